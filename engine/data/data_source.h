#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "engine/base/shape.h"
#include "engine/mesh/sharding.h"

namespace shardscope {

// An array that a model takes in every step, whole (of all devices). Values of an integer input that stands for
// something (a token, a class) lie in [0, limit); 0: it has no limit.
struct DataInput {
  std::string name;
  TensorType type;
  int64_t limit = 0;
  bool operator==(const DataInput&) const = default;
};

// What a model asks of its data, in an order that the model keeps.
struct DataRequest {
  std::vector<DataInput> inputs;

  const DataInput* find(const std::string& name) const;
};

// Where the inputs of a training step come from. Any part of an input, of any step, can be made alone and gives the
// same elements as that part of the whole: so each rank makes just its own shard, and data do not depend on the mesh.
// A source serves one thread; steps may come in any order, but those that go on are cheapest.
class DataSource {
 public:
  virtual ~DataSource() = default;
  // Writes the elements of `box` of input `name` in training step `step` (from 0), row-major, in the input's dtype, to
  // `out`, which is as large and aligned for it. Throws Failure for an input that it does not give.
  virtual void fill(const std::string& name, const Box& box, int64_t step, std::span<std::byte> out) const = 0;
  // Does what fill() would begin with for this step and those after it, where that is much; `on_progress` comes again
  // and again meanwhile.
  virtual void prepare(int64_t step, const std::function<void()>& on_progress) const {
    static_cast<void>(step), static_cast<void>(on_progress);
  }
  // True where every step has the same inputs, so that they need to be filled only once.
  virtual bool same_every_step() const = 0;
};

}  // namespace shardscope
