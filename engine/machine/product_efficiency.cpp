#include "engine/machine/product_efficiency.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace shardscope {

namespace {

std::array<double, 3> position(const ProductSample& sample) {
  return {std::log2(static_cast<double>(sample.m)), std::log2(static_cast<double>(sample.n)),
          std::log2(static_cast<double>(sample.k))};
}

std::array<std::vector<double>, 3> grid_axes(std::span<const ProductSample> samples) {
  std::array<std::vector<double>, 3> axes;
  for (const ProductSample& sample : samples) {
    const auto at = position(sample);
    for (size_t d = 0; d < 3; ++d) axes[d].push_back(at[d]);
  }
  for (std::vector<double>& axis : axes) {
    std::ranges::sort(axis);
    axis.erase(std::unique(axis.begin(), axis.end()), axis.end());
  }
  return axes;
}

size_t index_of(const std::vector<double>& axis, double value) {
  return static_cast<size_t>(std::ranges::lower_bound(axis, value) - axis.begin());
}

}  // namespace

size_t ProductEfficiency::node_count(std::span<const ProductSample> samples) {
  const auto axes = grid_axes(samples);
  return axes[0].size() * axes[1].size() * axes[2].size();
}

ProductEfficiency::ProductEfficiency(std::span<const ProductSample> samples) : axes_(grid_axes(samples)) {
  fill(samples);
  make_monotone();
}

void ProductEfficiency::fill(std::span<const ProductSample> samples) {
  struct Place {
    std::array<double, 3> at;
    double efficiency;
  };
  constexpr double unknown = std::numeric_limits<double>::infinity();
  nodes_.assign(axes_[0].size() * axes_[1].size() * axes_[2].size(), unknown);
  std::vector<Place> places;
  for (const ProductSample& sample : samples) {
    const auto& [at, efficiency] = places.emplace_back(Place{position(sample), std::log2(sample.efficiency)});
    nodes_[index({index_of(axes_[0], at[0]), index_of(axes_[1], at[1]), index_of(axes_[2], at[2])})] = efficiency;
  }
  for (size_t i = 0; i < nodes_.size(); ++i) {
    if (nodes_[i] != unknown) continue;
    const size_t rows = axes_[1].size(), columns = axes_[2].size();
    const double at[] = {axes_[0][i / columns / rows], axes_[1][i / columns % rows], axes_[2][i % columns]};
    double sum = 0, weights = 0, least = -unknown;
    for (const Place& place : places) {
      double square = 0, above = 0;
      for (size_t d = 0; d < 3; ++d) {
        const double distance = place.at[d] - at[d];
        square += distance * distance;
        above += distance >= 0 ? distance : unknown;
      }
      sum += place.efficiency / square;
      weights += 1 / square;
      least = std::max(least, place.efficiency - above);
    }
    nodes_[i] = std::max(sum / weights, least);
  }
}

void ProductEfficiency::make_monotone() {
  Node node{};
  for (node[0] = 0; node[0] < axes_[0].size(); ++node[0]) {
    for (node[1] = 0; node[1] < axes_[1].size(); ++node[1]) {
      for (node[2] = 0; node[2] < axes_[2].size(); ++node[2]) {
        double& efficiency = nodes_[index(node)];
        for (size_t d = 0; d < 3; ++d) {
          if (node[d] == 0) continue;
          Node before = node;
          --before[d];
          efficiency = std::min(efficiency, nodes_[index(before)] + axes_[d][node[d]] - axes_[d][before[d]]);
        }
      }
    }
  }
}

double ProductEfficiency::at(int64_t m, int64_t n, int64_t k) const {
  if (nodes_.empty()) return 1;
  const double at[] = {std::log2(static_cast<double>(m)), std::log2(static_cast<double>(n)),
                       std::log2(static_cast<double>(k))};
  Node low{}, high{};
  double fraction[3];
  for (size_t d = 0; d < 3; ++d) {
    const std::vector<double>& axis = axes_[d];
    high[d] = std::min(index_of(axis, at[d]), axis.size() - 1);
    low[d] = high[d] == 0 || axis[high[d]] <= at[d] ? high[d] : high[d] - 1;
    fraction[d] = low[d] == high[d] ? 0 : (at[d] - axis[low[d]]) / (axis[high[d]] - axis[low[d]]);
  }
  double sum = 0;
  for (size_t corner = 0; corner < 8; ++corner) {
    Node node{};
    double weight = 1;
    for (size_t d = 0; d < 3; ++d) {
      const bool upper = corner >> d & 1;
      node[d] = upper ? high[d] : low[d];
      weight *= upper ? fraction[d] : 1 - fraction[d];
    }
    if (weight > 0) sum += weight * nodes_[index(node)];
  }
  return std::exp2(sum);
}

}  // namespace shardscope
