#pragma once

#include <cstdint>

#include "engine/graph/graph.h"
#include "engine/mesh/sharding.h"

namespace shardscope {

// A value as it lies on the devices. Several program values may stem from one graph value: as its op gives it, and its
// reshards.
struct ProgramValue {
  ValueId graph_value = no_id;
  bool moved = false;  // made by a reshard
  DType dtype = DType::f32;
  Shape shape;  // global
  Sharding sharding;
  Shape local_shape;                                                               // per device
  int64_t bytes() const { return element_count(local_shape) * byte_size(dtype); }  // per device
};

}  // namespace shardscope
