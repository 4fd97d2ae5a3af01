#pragma once

#include <limits>
#include <vector>

#include "engine/mesh/mesh.h"

namespace shardscope {

// How many devices a mesh of these axes would have, also where there is no such mesh: 0 where a size is below 1, the
// largest number where they are more.
inline int64_t device_count(const std::vector<MeshAxis>& axes) {
  constexpr int64_t most = std::numeric_limits<int64_t>::max();
  int64_t devices = 1;
  for (const MeshAxis& axis : axes) {
    if (axis.size < 1) return 0;
    devices = axis.size > most / devices ? most : devices * axis.size;
  }
  return devices;
}

}  // namespace shardscope
