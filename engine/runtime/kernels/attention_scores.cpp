#include "engine/runtime/kernels/attention_scores.h"

#include <limits>
#include <numbers>

#include "engine/base/vector_versions.h"
#include "engine/ops/attention.h"
#include "engine/runtime/kernels/vector_math.h"

namespace shardscope {

namespace {

constexpr auto cap_scores =
    vector_versions([]<class Float>(Float cap, int64_t count, Float* scores, Float* derivatives) {
      if (derivatives) {
#pragma omp simd
        for (int64_t i = 0; i < count; ++i) {
          const Float tanh = vector_tanh(scores[i] / cap);
          scores[i] = cap * tanh;
          derivatives[i] = 1.0f - tanh * tanh;
        }
      } else {
#pragma omp simd
        for (int64_t i = 0; i < count; ++i) scores[i] = cap * vector_tanh(scores[i] / cap);
      }
    });

}  // namespace

ScoreAdjustment::ScoreAdjustment(const AttentionShape& shape, const KernelArguments& arguments) : shape_(shape) {
  const AttentionAttributes& attributes = arguments.attributes->as<AttentionAttributes>();
  soft_cap_ = static_cast<float>(attributes.soft_cap * std::numbers::log2e);
  if (attributes.slopes.empty()) return;
  for (int64_t h = 0; h < shape.heads; ++h) {
    const double slope = attributes.slopes[static_cast<size_t>(shape.first_head + h)];
    slopes_.push_back(static_cast<float>(slope * std::numbers::log2e));
  }
}

void ScoreAdjustment::apply(const TransposedScores& scores, int64_t h, int64_t first, int64_t count,
                            float* derivatives) const {
  if (soft_cap_ > 0) cap_scores(soft_cap_, scores.keys * scores.row, scores.scores, derivatives);
  const int64_t first_key = shape_.first_key(first), first_position = shape_.first_query + first;
  if (!slopes_.empty()) {
    for (int64_t key = 0; key < scores.keys; ++key) {
      float* row = scores.scores + key * scores.row;
      const auto distance = static_cast<float>(first_key + key - first_position);
      for (int64_t i = 0; i < count; ++i)
        row[i] += slopes_[static_cast<size_t>(h)] * (distance - static_cast<float>(i));
    }
  }
  if (shape_.window == 0) return;
  // Query i no longer sees keys up to its position less the window.
  for (int64_t i = 0; i < count; ++i) {
    const int64_t hidden = std::min(scores.keys, first_position + i - shape_.window + 1 - first_key);
    for (int64_t key = 0; key < hidden; ++key) {
      scores.scores[key * scores.row + i] = -std::numeric_limits<float>::infinity();
    }
  }
}

}  // namespace shardscope
