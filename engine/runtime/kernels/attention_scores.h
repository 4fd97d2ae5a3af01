#pragma once

#include "engine/runtime/kernels/attention_head.h"
#include "engine/runtime/kernels/attention_loops.h"

namespace shardscope {

// What attention's attributes do to the scores of a block of queries before softmax: soft cap, ALiBi's slopes, window.
class ScoreAdjustment {
 public:
  ScoreAdjustment(const AttentionShape& shape, const KernelArguments& arguments);

  bool active() const { return soft_cap_ > 0 || !slopes_.empty() || shape_.window > 0; }
  // Of `count` queries of local head h from `first` on. Scores outside the window become -infinity. `derivatives`: as
  // many as scores, of each capped score by the one before the cap; or nullptr.
  void apply(const TransposedScores& scores, int64_t h, int64_t first, int64_t count,
             float* derivatives = nullptr) const;

 private:
  AttentionShape shape_;
  float soft_cap_;             // times log2(e), as the scores are
  std::vector<float> slopes_;  // likewise, of the heads held here
};

}  // namespace shardscope
