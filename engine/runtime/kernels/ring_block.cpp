#include "engine/runtime/kernels/ring_block.h"

#include <cmath>
#include <limits>

#include "engine/base/vector_versions.h"
#include "engine/ops/workspace.h"
#include "engine/runtime/kernels/vector_math.h"

namespace shardscope {

namespace {

constexpr auto scale_and_cap =
    vector_versions([](float scale, float cap, int64_t count, float* scores, float* derivatives) {
#pragma omp simd
      for (int64_t i = 0; i < count; ++i) scores[i] *= scale;
      if (cap <= 0) {
        if (!derivatives) return;
#pragma omp simd
        for (int64_t i = 0; i < count; ++i) derivatives[i] = scale;
        return;
      }
      for (int64_t i = 0; i < count; ++i) {
        const float tanh = vector_tanh(scores[i] / cap);
        scores[i] = cap * tanh;
        if (derivatives) derivatives[i] = scale * (1.0f - tanh * tanh);
      }
    });

}  // namespace

RingBlock::RingBlock(const KernelArguments& arguments) : attributes_(arguments.attributes->as<RingAttributes>()) {
  const RingAttributes& attributes = attributes_;
  const TensorView &query = arguments.inputs[0], &key = arguments.inputs[1];
  batch = query.shape[0];
  heads = query.shape[2];
  key_heads = key.shape[2];
  head_size = query.shape[3];
  length = attributes.length / attributes.blocks;
  blocks = query.shape[1] / length;
  chunk = length / 2;
  key_length = attributes.half < 0 ? length : chunk;
  query_row = heads * head_size;
  key_row = key_heads * head_size;
  scores_floats = attention_query_block * key_length;
  all_blocks_ = attributes.blocks;
  first_block_ = query.offset[1] / length;
  window_ = attributes.attention.window;
  const double scale = attributes.attention.scale;
  scale_ = static_cast<float>(scale > 0 ? scale : 1.0 / std::sqrt(static_cast<double>(head_size)));
  soft_cap_ = static_cast<float>(attributes.attention.soft_cap);
  if (!attributes.attention.slopes.empty()) {
    const auto first = attributes.attention.slopes.begin() + query.offset[2];
    alibi_.assign(first, first + heads);
  }
  order_ = {attributes.blocks, attributes.length};
}

int64_t RingBlock::query_chunk(int64_t block, int64_t half) const {
  const int64_t i = first_block_ + block;
  return half == 0 ? i : 2 * all_blocks_ - 1 - i;
}

int64_t RingBlock::key_chunk(int64_t block, int64_t index) const {
  const int64_t i = (first_block_ + block - attributes_.step + all_blocks_) % all_blocks_;
  return std::max(attributes_.half, index) == 0 ? i : 2 * all_blocks_ - 1 - i;
}

int64_t RingBlock::key_position(const Tile& tile, int64_t key) const {
  const int64_t at = tile.first_key + key;
  return key_chunk(tile.block, at / chunk) * chunk + at % chunk;
}

// Positions of keys ascend in a block.
std::pair<int64_t, int64_t> RingBlock::seen_keys(int64_t block, int64_t first, int64_t rows) const {
  const int64_t position = query_chunk(block, first / chunk) * chunk + first % chunk;
  const int64_t low = window_ > 0 ? position - window_ + 1 : 0, high = position + rows;
  int64_t begin = key_length, end = 0;
  for (int64_t of_chunk = 0; of_chunk < key_length; of_chunk += chunk) {
    const int64_t start = key_chunk(block, of_chunk / chunk) * chunk;
    const int64_t from = std::max(low, start) - start, to = std::min(high, start + chunk) - start;
    if (from >= to) continue;
    begin = std::min(begin, of_chunk + from);
    end = of_chunk + to;
  }
  return {begin, std::max<int64_t>(0, end - begin)};
}

void RingBlock::adjust(const Tile& tile, float* scores, float* derivatives) const {
  scale_and_cap(scale_, soft_cap_, tile.rows * tile.keys, scores, derivatives);
  const int64_t first = query_chunk(tile.block, tile.first / chunk) * chunk + tile.first % chunk;
  const bool all_before = key_position(tile, tile.keys - 1) <= first;
  if (all_before && window_ == 0 && alibi_.empty()) return;
  for (int64_t row = 0; row < tile.rows; ++row) {
    const int64_t position = first + row;
    float* of_row = scores + row * tile.keys;
    for (int64_t key = 0; key < tile.keys; ++key) {
      const int64_t behind = position - key_position(tile, key);
      const bool hidden = behind < 0 || (window_ > 0 && behind >= window_);
      if (hidden) {
        of_row[key] = -std::numeric_limits<float>::infinity();
      } else if (!alibi_.empty()) {
        of_row[key] += alibi_[static_cast<size_t>(tile.head)] * static_cast<float>(-behind);
      }
    }
  }
}

}  // namespace shardscope
