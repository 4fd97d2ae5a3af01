#pragma once

#include <cmath>
#include <limits>
#include <optional>
#include <vector>

#include "engine/graph/graph.h"
#include "engine/ops/dropout.h"

// Values that attributes of several ops are made of.
namespace shardscope::test {

// The next number, which a text of few digits would not tell from this one.
inline double next(double value) { return std::nextafter(value, std::numeric_limits<double>::infinity()); }

inline std::vector<TensorType> different_types() {
  return {{{}, DType::f32},   {{2}, DType::f32},     {{2, 3}, DType::f32}, {{3, 2}, DType::f32},
          {{23}, DType::f32}, {{2, 3}, DType::bf16}, {{2, 3}, DType::i32}, {{2, 3, 1}, DType::f32}};
}

inline std::vector<StepKey> step_keys() {
  const StepKey key{{3, 4}, 2, 1, 7};
  [[maybe_unused]] const auto& [root, stride, offset, fold] = key;
  return {key,
          {{5, 4}, stride, offset, fold},
          {{3, 5}, stride, offset, fold},
          {{4, 3}, stride, offset, fold},
          {root, 3, offset, fold},
          {root, stride, 2, fold},
          {root, stride, offset, 8},
          {root, stride, offset, 0},
          {root, stride, offset, std::nullopt}};
}

inline std::vector<DropoutAttributes> dropouts() {
  std::vector<DropoutAttributes> all{{}};
  for (double rate : {0.0, 0.5, next(0.5)}) {
    [[maybe_unused]] const auto& [own_rate, own_key] = all[0];
    for (const StepKey& key : step_keys()) all.push_back({rate, key});
  }
  return all;
}

}  // namespace shardscope::test
