#pragma once

#include <algorithm>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "engine/base/shape.h"
#include "engine/mesh/mesh.h"
#include "engine/mesh/sharding.h"

namespace shardscope {

struct RandomCase {
  Mesh mesh;
  Sharding sharding;
  Shape shape;  // divides

  std::string text() const {
    std::string mesh_text;
    for (const MeshAxis& axis : mesh.axes()) mesh_text += axis.name + "=" + std::to_string(axis.size) + " ";
    return mesh_text + to_string(sharding, mesh) + " " + to_string(shape);
  }
};

// Deterministic meshes of up to 48 devices (one in two with shuffled devices), shardings and shapes that divide.
class RandomCases {
 public:
  explicit RandomCases(unsigned seed) : random_(seed) {}

  int64_t below(int64_t bound) { return static_cast<int64_t>(random_() % static_cast<uint64_t>(bound)); }

  Mesh mesh() {
    std::vector<MeshAxis> axes;
    int64_t count = 1;
    for (int64_t i = 0, n = below(5); i < n; ++i) {
      const int64_t size = 1 + below(4);
      if (count * size > 48) break;
      count *= size;
      axes.push_back({std::string(1, static_cast<char>('a' + i)), size});
    }
    std::vector<int> devices(count);
    std::iota(devices.begin(), devices.end(), 0);
    if (below(2)) std::shuffle(devices.begin(), devices.end(), random_);
    return Mesh(axes, devices);
  }

  RandomCase next(bool with_partial = false) {
    RandomCase result{mesh(), Sharding::replicated(static_cast<int>(below(5))), {}};
    std::vector<AxisIndex> axes(result.mesh.axis_count());
    std::iota(axes.begin(), axes.end(), AxisIndex{0});
    std::shuffle(axes.begin(), axes.end(), random_);
    for (AxisIndex axis : axes) {
      const int64_t where = below(result.sharding.rank + 2);
      if (where < result.sharding.rank) result.sharding.dims[where].push_back(axis);
      if (where == result.sharding.rank && with_partial) result.sharding.partial |= static_cast<uint8_t>(1u << axis);
    }
    for (int dim = 0; dim < result.sharding.rank; ++dim) {
      result.shape.push_back(shard_count(result.sharding, result.mesh, dim) * (1 + below(3)));
    }
    return result;
  }

 private:
  std::mt19937_64 random_;
};

}  // namespace shardscope
