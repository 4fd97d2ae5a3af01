#include "engine/search/chunk_layers.h"

#include <algorithm>

namespace shardscope {

std::vector<ChunkLayers> cut_layers(const std::vector<EqualLayers>& groups, const std::vector<int>& chunks) {
  std::vector<ChunkLayers> cut;
  int64_t first = 0;
  for (size_t c = 0; c < chunks.size(); ++c) {
    const int64_t end = first + chunks[c];
    ChunkLayers& chunk = cut.emplace_back();
    chunk.has_before = c == 0;
    chunk.has_behind = c + 1 == chunks.size();
    for (size_t g = 0; g < groups.size(); ++g) {
      const int64_t count = std::max<int64_t>(0, std::min(end, groups[g].end()) - std::max(first, groups[g].first));
      chunk.count.push_back(count);
      if (count == 0) continue;
      if (chunk.first_group < 0) chunk.first_group = static_cast<int>(g);
      chunk.last_group = static_cast<int>(g);
    }
    first = end;
  }
  return cut;
}

ChunkLayers layers_of_stage(const std::vector<ChunkLayers>& chunks, size_t stage, size_t stages) {
  ChunkLayers sum;
  sum.count.assign(chunks.front().count.size(), 0);
  for (size_t c = stage; c < chunks.size(); c += stages) {
    for (size_t g = 0; g < sum.count.size(); ++g) sum.count[g] += chunks[c].count[g];
    sum.has_before |= chunks[c].has_before;
    sum.has_behind |= chunks[c].has_behind;
    if (sum.first_group < 0) sum.first_group = chunks[c].first_group;
    if (chunks[c].last_group >= 0) sum.last_group = chunks[c].last_group;
  }
  return sum;
}

}  // namespace shardscope
