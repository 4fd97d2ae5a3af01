#pragma once

#include <algorithm>
#include <cmath>

#include "tests/laws/whole_graph.h"
#include "tests/reference/reference.h"

namespace shardscope {

inline reference::Array in_doubles(const TestArray& array, const TensorType& type) {
  reference::Array doubles{type, reference::Values(element_count(type.shape))};
  for (int64_t i = 0; i < doubles.values.size(); ++i) doubles.values[i] = array.get(type.dtype, i);
  return doubles;
}

// The largest size of a value, but for those near the least f32, of which masked scores are made; at least 1e-3.
inline double scale_of(const reference::Array& array) {
  double largest = 1e-3;
  for (double value : array.values) {
    if (std::abs(value) < 1e30) largest = std::max(largest, std::abs(value));
  }
  return largest;
}

// The largest difference from the reference, in units of what is allowed: `tolerance` of `scale` or of the value
// itself, besides one unit in the last place of bf16; nothing for integers.
inline double disagreement(const TestArray& found, const reference::Array& expected, double tolerance, double scale) {
  double worst = 0;
  for (int64_t i = 0; i < expected.values.size(); ++i) {
    const double value = expected.values[i], other = found.get(expected.type.dtype, i);
    if (value == other || (std::isnan(value) && std::isnan(other))) continue;
    if (expected.type.dtype == DType::i32 || std::isnan(value) || std::isnan(other)) return INFINITY;
    double allowed = tolerance * std::max(scale, std::abs(value));
    if (expected.type.dtype == DType::bf16) allowed += std::abs(value) / 128;
    worst = std::max(worst, std::abs(other - value) / allowed);
  }
  return worst;
}

}  // namespace shardscope
