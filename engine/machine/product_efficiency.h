#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/machine/machine.h"

namespace shardscope {

// The efficiency of matrix products of any shape, from samples of some. Such that a product never takes less time than
// one that is smaller or equal in m, n and k.
//
// The samples' distinct m, n and k span a grid. A node without a sample gets the mean of the logarithms of all samples'
// efficiencies, weighted by 1 / d^2 with d the distance in (log2 m, log2 n, log2 k) (Shepard 1968); more where its time
// (m n k / efficiency) would exceed that of a sample that is no smaller in m, n and k. Then, in ascending order, no
// node's time is left below that of a neighbour before it. Between nodes
// log2(efficiency) is trilinear in log2 m, log2 n, log2 k; outside of the grid it is that of the nearest border. No
// samples: 1; one sample: a constant. The result passes through each sample that takes at least the time of each
// smaller one.
//
// Example: samples (64, 64, 64): 0.2 and (256, 64, 64): 0.8; m = 128: sqrt(0.2 * 0.8) = 0.4.
class ProductEfficiency {
 public:
  // Of a grid: distinct m times distinct n times distinct k. Irregular samples: up to 40.
  static constexpr size_t max_nodes = 65536;
  static size_t node_count(std::span<const ProductSample> samples);

  explicit ProductEfficiency(std::span<const ProductSample> samples = {});

  // m, n, k >= 1.
  double at(int64_t m, int64_t n, int64_t k) const;

 private:
  using Node = std::array<size_t, 3>;
  size_t index(const Node& node) const { return (node[0] * axes_[1].size() + node[1]) * axes_[2].size() + node[2]; }
  void fill(std::span<const ProductSample> samples);
  void make_monotone();

  std::array<std::vector<double>, 3> axes_;  // log2 of the distinct m, n, k, ascending
  std::vector<double> nodes_;                // log2 of the efficiency
};

}  // namespace shardscope
