#include "engine/worker/shared_text.h"

#include <algorithm>
#include <array>
#include <cstdint>

#include "engine/worker/rank_exchange.h"

namespace shardscope {

std::string text_of_rank_0(const std::string& text, Communicator& ranks) {
  RankExchange exchange(ranks);
  const auto bytes = static_cast<size_t>(exchange.gather(static_cast<int64_t>(text.size())).front());
  std::string whole;
  while (whole.size() < bytes) {
    std::array<char, 64> piece{};
    if (whole.size() < text.size()) text.copy(piece.data(), piece.size(), whole.size());
    piece = exchange.gather(piece).front();
    whole.append(piece.data(), std::min(piece.size(), bytes - whole.size()));
  }
  return whole;
}

}  // namespace shardscope
