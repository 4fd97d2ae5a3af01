#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/plan/plan.h"

namespace shardscope {

// An array of a plan that has a sharding, by its name: "params/Dense_0/kernel", "optimizer/mu/params/Dense_0/kernel",
// "tokens", "Dense_0/gelu".
struct ShardedArray {
  enum class Kind : uint8_t { parameter, state, input, activation };

  std::string name;
  Kind kind = Kind::parameter;
  Shape shape;
  DType dtype = DType::f32;
  Sharding sharding;
  bool is_set = false;  // by a line of the run file
  std::string why;
  std::vector<int> stages;  // whose devices make or store it
};
std::string_view name(ShardedArray::Kind kind);  // "parameter", "optimizer state", "input", "activation"

// Parameters in the model's order, their states, by name of the state, inputs, and results of the forward pass in its
// order.
std::vector<ShardedArray> sharded_arrays(const Plan& plan);
// Of these all that are stored, inputs, and such results as a line of the run file says the layout of.
std::vector<ShardedArray> given_arrays(const Plan& plan);

}  // namespace shardscope
