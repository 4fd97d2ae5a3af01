#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/graph/graph.h"
#include "engine/mesh/sharding.h"

namespace shardscope {

// A value as it is laid out on the devices. Several program values may stem from one graph value: as its op gives it,
// and its reshards.
struct ProgramValue {
  ValueId graph_value = no_id;
  bool moved = false;  // made by a reshard, or received
  int stage = 0;       // whose devices hold it
  DType dtype = DType::f32;
  Shape shape;  // global
  Sharding sharding;
  Shape local_shape;                                                               // per device
  int64_t bytes() const { return element_count(local_shape) * byte_size(dtype); }  // per device
};

// What an op sees of some of the values on one device; replaces what `types` held.
inline void local_types(const std::vector<ProgramValue>& values, std::span<const int> ids,
                        std::vector<TensorType>& types) {
  types.clear();
  for (int id : ids) types.push_back({values[id].local_shape, values[id].dtype});
}

}  // namespace shardscope
