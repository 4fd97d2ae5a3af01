#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>

#include "engine/base/vector_versions.h"
#include "engine/ops/ring_attention.h"
#include "engine/runtime/kernels/attention_head.h"
#include "engine/runtime/kernels/kernel_case.h"
#include "engine/runtime/kernels/named_kernel.h"
#include "engine/runtime/kernels/parallel.h"
#include "engine/runtime/kernels/ring_block.h"
#include "engine/runtime/kernels/serial_product.h"
#include "engine/runtime/kernels/vector_math.h"

namespace shardscope {

namespace {

constexpr float lowest = std::numeric_limits<float>::lowest();

// Scores become weights; returns the logarithm of the sum of their exponentials, the lowest number where none is seen.
constexpr auto weigh_row = vector_versions([](float* scores, int64_t count) {
  float top = -std::numeric_limits<float>::infinity();
#pragma omp simd reduction(max : top)
  for (int64_t i = 0; i < count; ++i) top = std::max(top, scores[i]);
  if (!(top >= lowest)) {
    std::fill_n(scores, count, 0.0f);
    return lowest;
  }
  float sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t i = 0; i < count; ++i) {
    scores[i] = vector_exp(scores[i] - top);
    sum += scores[i];
  }
  const float share = 1.0f / sum;
#pragma omp simd
  for (int64_t i = 0; i < count; ++i) scores[i] *= share;
  return top + std::log(sum);
});

// Scores become weights by the log-sum-exp of all keys, d weights become d products.
constexpr auto weigh_row_back =
    vector_versions([](float* scores, float* dweights, const float* derivatives, float lse, float mean, int64_t count) {
#pragma omp simd
      for (int64_t i = 0; i < count; ++i) {
        const float weight = vector_exp(scores[i] - lse);
        scores[i] = weight;
        dweights[i] = weight * (dweights[i] - mean) * derivatives[i];
      }
    });

// In double: what it is subtracted from nearly cancels it.
constexpr auto row_dot = vector_versions([](const float* a, const float* b, int64_t count) {
  double sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t i = 0; i < count; ++i) sum += static_cast<double>(a[i]) * static_cast<double>(b[i]);
  return static_cast<float>(sum);
});

// A thread's arrays, and its products of tiles.
struct TileScratch {
  float *scores, *dweights = nullptr, *derivatives = nullptr;
  void* blocks;
  int64_t block_bytes;

  TileScratch(const KernelArguments& arguments, const RingBlock& ring, int thread, bool back) {
    WorkspaceCursor cursor(arguments, thread);
    scores = cursor.take(ring.scores_floats);
    if (back) dweights = cursor.take(ring.scores_floats), derivatives = cursor.take(ring.scores_floats);
    blocks = cursor.rest();
    block_bytes = cursor.left();
  }

  void multiply(const MatrixProductShape& shape, const float* a, const float* b, float* c) const {
    make_eigen_product(shape, block_bytes)->run(a, b, c, blocks);
  }
};

// (rows of queries) x (keys), transposed.
MatrixProductShape by_keys(const RingBlock& ring, const RingBlock::Tile& tile) {
  MatrixProductShape shape{.m = tile.rows, .n = tile.keys, .k = ring.head_size, .transpose_b = true};
  shape.lda = ring.query_row;
  shape.ldb = ring.key_row;
  shape.ldc = tile.keys;
  return shape;
}

// (weights) x (values): rows of queries.
MatrixProductShape over_keys(const RingBlock& ring, const RingBlock::Tile& tile) {
  MatrixProductShape shape{.m = tile.rows, .n = ring.head_size, .k = tile.keys};
  shape.lda = tile.keys;
  shape.ldb = ring.key_row;
  shape.ldc = ring.query_row;
  return shape;
}

// (weights, transposed) x (rows of queries), added to rows of keys.
MatrixProductShape over_queries(const RingBlock& ring, const RingBlock::Tile& tile) {
  MatrixProductShape shape{.m = tile.keys, .n = ring.head_size, .k = tile.rows, .transpose_a = true};
  shape.lda = tile.keys;
  shape.ldb = ring.query_row;
  shape.ldc = ring.key_row;
  shape.accumulate = true;
  return shape;
}

// (q, k, v) -> (context, lse).
class AttentionBlockKernel : public Kernel {
 public:
  explicit AttentionBlockKernel(const KernelArguments& arguments)
      : ring_(arguments),
        query_(arguments.inputs[0].f32()),
        key_(arguments.inputs[1].f32()),
        value_(arguments.inputs[2].f32()),
        context_(arguments.outputs[0].f32()),
        lse_(arguments.outputs[1].f32()),
        threads_(arguments.threads) {
    for (int thread = 0; thread < threads_; ++thread) scratch_.emplace_back(arguments, ring_, thread, false);
  }

  void run(const StepContext&) override {
    parallel_for(threads_, ring_.batch * ring_.blocks * ring_.heads, 1, [&](int64_t begin, int64_t end, int thread) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t block = i / ring_.heads;
        ring_.for_each_tile(block / ring_.blocks, block % ring_.blocks, i % ring_.heads, attention_query_block,
                            [&](const RingBlock::Tile& tile) { attend(tile, scratch_[static_cast<size_t>(thread)]); });
      }
    });
  }

 private:
  void attend(const RingBlock::Tile& tile, const TileScratch& scratch) const {
    float* context = context_ + ring_.query_offset(tile);
    float* lse = lse_ + ring_.lse_offset(tile);
    if (tile.keys == 0) {
      for (int64_t i = 0; i < tile.rows; ++i) std::fill_n(context + i * ring_.query_row, ring_.head_size, 0.0f);
      std::fill_n(lse, tile.rows, lowest);
      return;
    }
    const int64_t key = ring_.key_offset(tile);
    scratch.multiply(by_keys(ring_, tile), query_ + ring_.query_offset(tile), key_ + key, scratch.scores);
    ring_.adjust(tile, scratch.scores, nullptr);
    for (int64_t i = 0; i < tile.rows; ++i) lse[i] = weigh_row(scratch.scores + i * tile.keys, tile.keys);
    scratch.multiply(over_keys(ring_, tile), scratch.scores, value_ + key, context);
  }

  RingBlock ring_;
  const float* query_;
  const float* key_;
  const float* value_;
  float* context_;
  float* lse_;
  int threads_;
  std::vector<TileScratch> scratch_;
};

// (q, k, v, context, lse, d context [, d lse]) -> (dq, dk, dv).
class AttentionBlockGradKernel : public Kernel {
 public:
  explicit AttentionBlockGradKernel(const KernelArguments& arguments) : ring_(arguments), threads_(arguments.threads) {
    for (const TensorView& view : arguments.inputs) inputs_.push_back(view.f32());
    inputs_.resize(7, nullptr);
    for (const TensorView& view : arguments.outputs) outputs_.push_back(view.f32());
    for (int thread = 0; thread < threads_; ++thread) scratch_.emplace_back(arguments, ring_, thread, true);
  }

  void run(const StepContext&) override {
    const int64_t shared = ring_.heads / ring_.key_heads;
    parallel_for(threads_, ring_.batch * ring_.blocks * ring_.key_heads, 1,
                 [&](int64_t begin, int64_t end, int thread) {
                   for (int64_t i = begin; i < end; ++i) {
                     const int64_t block = i / ring_.key_heads, first = i % ring_.key_heads * shared;
                     const int64_t b = block / ring_.blocks;
                     clear_keys({b, block % ring_.blocks, first, 0, 0, 0, 0});
                     for (int64_t head = first; head < first + shared; ++head) {
                       ring_.for_each_tile(
                           b, block % ring_.blocks, head, attention_query_block,
                           [&](const RingBlock::Tile& tile) { back(tile, scratch_[static_cast<size_t>(thread)]); });
                     }
                   }
                 });
  }

 private:
  void clear_keys(const RingBlock::Tile& tile) const {
    const int64_t key = ring_.key_offset(tile);
    for (int64_t i = 0; i < ring_.key_length; ++i) {
      std::fill_n(outputs_[1] + key + i * ring_.key_row, ring_.head_size, 0.0f);
      std::fill_n(outputs_[2] + key + i * ring_.key_row, ring_.head_size, 0.0f);
    }
  }

  void back(const RingBlock::Tile& tile, const TileScratch& scratch) const {
    const int64_t query = ring_.query_offset(tile), key = ring_.key_offset(tile), lse = ring_.lse_offset(tile);
    if (tile.keys == 0) {
      for (int64_t i = 0; i < tile.rows; ++i) {
        std::fill_n(outputs_[0] + query + i * ring_.query_row, ring_.head_size, 0.0f);
      }
      return;
    }
    scratch.multiply(by_keys(ring_, tile), inputs_[0] + query, inputs_[1] + key, scratch.scores);
    ring_.adjust(tile, scratch.scores, scratch.derivatives);
    scratch.multiply(by_keys(ring_, tile), inputs_[5] + query, inputs_[2] + key, scratch.dweights);
    for (int64_t i = 0; i < tile.rows; ++i) {
      const int64_t row = query + i * ring_.query_row;
      float mean = row_dot(inputs_[3] + row, inputs_[5] + row, ring_.head_size);
      if (inputs_[6]) mean -= inputs_[6][lse + i];
      weigh_row_back(scratch.scores + i * tile.keys, scratch.dweights + i * tile.keys,
                     scratch.derivatives + i * tile.keys, inputs_[4][lse + i], mean, tile.keys);
    }
    scratch.multiply(over_keys(ring_, tile), scratch.dweights, inputs_[1] + key, outputs_[0] + query);
    scratch.multiply(over_queries(ring_, tile), scratch.dweights, inputs_[0] + query, outputs_[1] + key);
    scratch.multiply(over_queries(ring_, tile), scratch.scores, inputs_[5] + query, outputs_[2] + key);
  }

  RingBlock ring_;
  int threads_;
  std::vector<const float*> inputs_;
  std::vector<float*> outputs_;
  std::vector<TileScratch> scratch_;
};

void merge_attention(const KernelArguments& of, const StepContext&) {
  const Shape& shape = of.inputs[0].shape;
  const int64_t queries = shape[1], heads = shape[2], head_size = shape[3];
  const float *first_context = of.inputs[0].f32(), *first_lse = of.inputs[1].f32();
  const float *second_context = of.inputs[2].f32(), *second_lse = of.inputs[3].f32();
  float *context = of.outputs[0].f32(), *lse = of.outputs[1].f32();
  // i: (b, h, q).
  const auto merge = [&](int64_t i) {
    const int64_t b = i / (heads * queries), h = i / queries % heads, q = i % queries;
    const int64_t at = ((b * queries + q) * heads + h) * head_size;
    const float one = first_lse[i], other = second_lse[i], top = std::max(one, other);
    const float first = std::exp(one - top), second = std::exp(other - top), sum = first + second;
    for (int64_t d = at; d < at + head_size; ++d) {
      context[d] = (first * first_context[d] + second * second_context[d]) / sum;
    }
    lse[i] = top + std::log(sum);
  };
  parallel_for(of.threads, shape[0] * heads * queries, 16, [&](int64_t begin, int64_t end, int) {
    for (int64_t i = begin; i < end; ++i) merge(i);
  });
}

// Its last two operands, which mostly lie in the memory of its results.
void ring_attention(const KernelArguments& of, const StepContext&) {
  for (size_t i = 0; i < 2; ++i) {
    const float* from = of.inputs[3 + i].f32();
    if (from != of.outputs[i].f32()) std::copy_n(from, of.outputs[i].count(), of.outputs[i].f32());
  }
}

class RollKernel : public Kernel {
 public:
  explicit RollKernel(const KernelArguments& arguments)
      : from_(static_cast<const std::byte*>(arguments.inputs[0].data)),
        to_(static_cast<std::byte*>(arguments.outputs[0].data)),
        batch_(arguments.inputs[0].shape[0]) {
    const auto& attributes = arguments.attributes->as<RollAttributes>();
    blocks_ = attributes.blocks;
    shift_ = (attributes.shift % blocks_ + blocks_) % blocks_;
    bytes_ = batch_ == 0 ? 0 : arguments.inputs[0].count() / batch_ / blocks_ * byte_size(arguments.inputs[0].dtype);
    receives_.assign(static_cast<size_t>(blocks_), attributes.receivers.empty());
    for (int64_t block : attributes.receivers) receives_[static_cast<size_t>(block)] = true;
  }

  void run(const StepContext&) override {
    for (int64_t i = 0; i < batch_ * blocks_; ++i) {
      const int64_t from = i / blocks_ * blocks_ + (i % blocks_ - shift_ + blocks_) % blocks_;
      if (receives_[static_cast<size_t>(i % blocks_)]) {
        std::memcpy(to_ + i * bytes_, from_ + from * bytes_, static_cast<size_t>(bytes_));
      } else {
        std::memset(to_ + i * bytes_, 0, static_cast<size_t>(bytes_));
      }
    }
  }

 private:
  const std::byte* from_;
  std::byte* to_;
  int64_t batch_, blocks_ = 1, shift_ = 0, bytes_ = 0;
  std::vector<bool> receives_;  // per block
};

// Copies between whole blocks and their halves.
template <bool joining>
class HalvesKernel : public Kernel {
 public:
  explicit HalvesKernel(const KernelArguments& arguments) : threads_(arguments.threads) {
    const std::vector<TensorView>& halves = joining ? arguments.inputs : arguments.outputs;
    const TensorView& whole = (joining ? arguments.outputs : arguments.inputs)[0];
    whole_ = whole.f32();
    halves_ = {halves[0].f32(), halves[1].f32()};
    const int64_t half = whole.global_shape[1] / arguments.attributes->as<BlockAttributes>().blocks / 2;
    count_ = whole.shape[0] * whole.shape[1] / half;
    floats_ = half;
    for (size_t d = 2; d < whole.shape.size(); ++d) floats_ *= whole.shape[d];
  }

  void run(const StepContext&) override {
    parallel_for(threads_, count_, 1, [&](int64_t begin, int64_t end, int) {
      for (int64_t i = begin; i < end; ++i) {
        float* half = halves_[static_cast<size_t>(i % 2)] + i / 2 * floats_;
        float* part = whole_ + i * floats_;
        std::copy_n(joining ? half : part, floats_, joining ? part : half);
      }
    });
  }

 private:
  int threads_;
  float* whole_;
  std::array<float*, 2> halves_{};
  int64_t count_ = 0, floats_ = 0;  // of halves; of each
};

}  // namespace

std::vector<NamedKernel> ring_attention_kernels() {
  return {{"roll", "f32->f32", construct<RollKernel>},
          {"roll", "i32->i32", construct<RollKernel>},
          {"block_halves", "f32->f32,f32", construct<HalvesKernel<false>>},
          {"join_halves", "f32,f32->f32", construct<HalvesKernel<true>>},
          {"attention_block", "f32,f32,f32->f32,f32", construct<AttentionBlockKernel>},
          {"attention_block_grad", "f32,f32,f32,f32,f32,f32->f32,f32,f32", construct<AttentionBlockGradKernel>},
          {"attention_block_grad", "f32,f32,f32,f32,f32,f32,f32->f32,f32,f32", construct<AttentionBlockGradKernel>},
          {"merge_attention", "f32,f32,f32,f32->f32,f32", construct_function<merge_attention>},
          {"ring_attention", "f32,f32,f32,f32,f32->f32,f32", construct_function<ring_attention>}};
}

std::vector<KernelCase> ring_attention_kernel_cases(const CaseSizes& sizes) {
  if (sizes.dtype != DType::f32) return {};
  const TensorType query = sizes.query(), lse = sizes.log_sums();
  const RingAttributes ring{{true, {}}, 1, sizes.length(), 0, -1};
  return {{"attention_block", ring, {query, query, query}},
          {"attention_block_grad", ring, {query, query, query, query, lse, query}},
          {"merge_attention", {}, {query, lse, query, lse}},
          {"ring_attention", ring, {query, query, query, query, lse}},
          {"roll", RollAttributes{2, 1, {}}, {query}},
          {"block_halves", BlockAttributes{2}, {query}},
          {"join_halves", BlockAttributes{2}, {query, query}}};
}

}  // namespace shardscope
