#pragma once

#include <algorithm>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "engine/mesh/reshard.h"
#include "tests/mesh/random_case.h"

namespace shardscope {

struct Pair {
  Mesh mesh;
  Shape shape;
  Sharding from, to;

  std::string text() const {
    std::string sizes;
    for (const MeshAxis& axis : mesh.axes()) sizes += axis.name + "=" + std::to_string(axis.size) + " ";
    std::string text = sizes + to_string(shape) + " " + to_string(from, mesh) + " -> " + to_string(to, mesh) + ":";
    for (const ReshardStep& step : reshard_path(from, to, mesh)) text += " " + to_string(step.result, mesh);
    return text;
  }
};

// Two layouts of one array on one mesh, of axes that split something; `from` may be partial where `to` is not, half of
// them sums and half maxima.
class Pairs {
 public:
  explicit Pairs(unsigned seed) : cases_(seed), random_(seed) {}

  Pair next(bool partial) {
    while (true) {
      const Mesh mesh = cases_.mesh();
      const bool small =
          std::any_of(mesh.axes().begin(), mesh.axes().end(), [](const MeshAxis& a) { return a.size == 1; });
      if (small || mesh.axis_count() == 0 || mesh.axis_count() > 3) continue;
      const int rank = static_cast<int>(random_() % 4);
      Pair pair{mesh, Shape(rank, 1), layout(mesh, rank, partial), layout(mesh, rank, false)};
      if (pair.from.partial && random_() % 2) pair.from.reduction = Reduction::max;
      if (partial && random_() % 3 == 0) keep_partial(pair);
      for (int d = 0; d < rank; ++d) {
        const int64_t a = shard_count(pair.from, mesh, d), b = shard_count(pair.to, mesh, d);
        pair.shape[d] = a / std::gcd(a, b) * b * static_cast<int64_t>(1 + random_() % 2);
      }
      if (element_count(pair.shape) <= 3000) return pair;
    }
  }

  std::mt19937& random() { return random_; }

 private:
  Sharding layout(const Mesh& mesh, int rank, bool partial) {
    Sharding sharding = Sharding::replicated(rank);
    std::vector<AxisIndex> axes(mesh.axis_count());
    std::iota(axes.begin(), axes.end(), AxisIndex{0});
    std::shuffle(axes.begin(), axes.end(), random_);
    for (AxisIndex axis : axes) {
      const int where = static_cast<int>(random_() % (rank + 2));
      if (where < rank) sharding.dims[where].push_back(axis);
      if (where == rank && partial) sharding.partial |= static_cast<uint8_t>(1u << axis);
    }
    return sharding;
  }

  // The target stays partial over what it does not split by.
  void keep_partial(Pair& pair) {
    pair.to.partial = pair.from.partial & static_cast<uint8_t>(~pair.to.used_axes());
    if (pair.to.partial) pair.to.reduction = pair.from.reduction;
  }

  RandomCases cases_;
  std::mt19937 random_;
};

}  // namespace shardscope
