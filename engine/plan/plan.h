#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "engine/config/run_config.h"
#include "engine/graph/graph.h"
#include "engine/mesh/mesh.h"
#include "engine/mesh/sharding.h"
#include "engine/plan/device_profile.h"
#include "engine/program/program.h"

namespace shardscope {

// Why an axis lies on a dimension of a value.
struct Origin {
  enum class Kind : uint8_t { user, propagated, cost, replicated } kind = Kind::replicated;
  std::string text;  // "you set it", "from Dense_0/einsum along e", "cheapest: saves 12 MiB a step"
};

struct ParameterPlan {
  std::vector<std::string> path;
  Shape shape;
  DType dtype = DType::f32;
  PartitionSpec spec;  // as the file says, or empty when not named
  bool named = false;  // the file names it
  Sharding sharding;
  int value = -1;  // program value that stores it
  std::vector<std::string> state_names;
  std::vector<int> state_values;  // program values of the optimizer's state
};

// The layout of a value of the forward graph where it is defined, for views and explanations.
struct ValueLayout {
  ValueId value = no_id;
  std::string name;
  Shape shape;
  Sharding sharding;
  Origin origin;
};

struct PlanTotals {
  std::array<int64_t, memory_category_count> memory{};  // bytes per device at the peak, by category
  int64_t memory_total = 0;                             // = arena_bytes
  int64_t live_lower_bound = 0;                         // largest sum of live buffers
  double wire_bytes_per_device = 0;
  double flops_per_device = 0;
  double seconds_per_step = 0;  // predicted
};

// Wall time of one part of compile().
struct PlanningPhase {
  std::string name;  // "graph", "propagate", "choose", "lower", "memory", ...
  double milliseconds = 0;
};

// What compile() gives: everything that is shown and everything that is executed.
struct Plan {
  RunConfig config;
  DeviceProfile profile;
  Mesh mesh;
  std::shared_ptr<const Graph> graph;
  Program program;
  std::vector<ParameterPlan> parameters;
  std::vector<ValueLayout> layouts;  // inputs and forward results, in graph order
  std::vector<int> input_values;     // program values of graph inputs, in the order of Graph::inputs
  int loss_value = -1;               // scalar f32, replicated
  int accuracy_value = -1;
  PlanTotals totals;
  std::vector<Error> warnings;
  uint64_t hash = 0;                  // of config, profile and library versions
  double planning_milliseconds = 0;   // wall time of compile(); not part of the hash
  std::vector<PlanningPhase> phases;  // of that time
};

}  // namespace shardscope
