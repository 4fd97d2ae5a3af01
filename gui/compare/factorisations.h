#pragma once

#include <QString>
#include <cstdint>
#include <vector>

#include "engine/mesh/mesh.h"

namespace shardscope {

// All meshes of `devices` devices with these axes, of which those in `fixed` keep their size: 8 over data, model gives
// 8x1, 4x2, 2x4, 1x8. The first axis descends slowest. At most `most` of them; none where the fixed sizes do not divide
// the devices.
std::vector<std::vector<MeshAxis>> factorisations(int64_t devices, const std::vector<MeshAxis>& axes,
                                                  const std::vector<bool>& fixed, size_t most);
// How many there are.
int64_t factorisation_count(int64_t devices, const std::vector<MeshAxis>& axes, const std::vector<bool>& fixed);

QString mesh_text(const std::vector<MeshAxis>& axes);  // "data=4, model=2"

}  // namespace shardscope
