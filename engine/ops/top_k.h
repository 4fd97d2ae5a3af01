#pragma once

#include <cstdint>
#include <string>

namespace shardscope {

// Attributes of op top_k: of each row's scores, the softmax or the sigmoids of its logits, the k largest are chosen,
// largest first. Their weights are the scores, over their sum where `normalise`, times `scale`.
//
// A bias, one more operand, is added to the scores that are compared, not to the weights. With groups, equal parts of
// the row, just those `chosen_groups` count whose two largest compared scores have the largest sums (DeepSeek-V3).
struct TopKAttributes {
  enum class Score : uint8_t { softmax, sigmoid } score = Score::softmax;
  int64_t k = 1;
  bool normalise = false;
  double scale = 1;
  int64_t groups = 1, chosen_groups = 1;
  bool operator==(const TopKAttributes&) const = default;
};
std::string to_string(const TopKAttributes& attributes);

}  // namespace shardscope
