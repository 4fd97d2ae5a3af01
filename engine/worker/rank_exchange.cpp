#include "engine/worker/rank_exchange.h"

#include <algorithm>
#include <cstdint>

namespace shardscope {

void RankExchange::all_gather() {
  CollectivePart part;
  part.source = lines_.data();
  part.destination = lines_.data() + line_bytes;
  part.shape = {static_cast<int64_t>(line_bytes) / byte_size(DType::i32)};
  part.dtype = DType::i32;
  part.concat_dim = 0;
  world_.all_gather({&part, 1});
}

void RankExchange::throw_together(const std::optional<Failure>& error) {
  const std::vector<int64_t> failed = gather(int64_t{error.has_value()});
  const auto lowest = std::ranges::find(failed, 1) - failed.begin();
  if (lowest == world_.size()) return;
  if (lowest == world_.rank()) throw *error;
  world_.barrier();
}

}  // namespace shardscope
