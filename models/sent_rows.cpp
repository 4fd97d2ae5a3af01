#include "models/sent_rows.h"

#include <algorithm>
#include <cmath>

namespace shardscope {

SentRows sent_rows(const Shape& choices, int64_t experts, const TokenBlocks& blocks, double capacity_factor) {
  SentRows sent{{experts, blocks.experts, blocks.batch, blocks.length, 1, false}, 1};
  const int64_t k = choices[2], tokens = choices[0] * choices[1] / blocks.batch / blocks.length;
  const double even = static_cast<double>(tokens * k) / static_cast<double>(blocks.experts);
  sent.blocks.rows = tokens * std::min(k, sent.blocks.block_experts());
  if (capacity_factor > 0) {
    sent.blocks.rows = std::clamp<int64_t>(std::llround(std::ceil(capacity_factor * even)), 1, sent.blocks.rows);
  }
  sent.filled = sent.blocks.filled(choices);
  return sent;
}

}  // namespace shardscope
