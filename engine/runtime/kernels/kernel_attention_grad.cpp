#include <algorithm>
#include <optional>

#include "engine/base/vector_versions.h"
#include "engine/ops/attention.h"
#include "engine/runtime/kernels/attention_head.h"
#include "engine/runtime/kernels/kernel_families.h"
#include "engine/runtime/kernels/parallel.h"
#include "engine/runtime/kernels/vector_math.h"

namespace shardscope {

namespace {

constexpr auto weights_from_scores =
    vector_versions([](float* scores, const float* bias, float scale, float lse, int64_t limit, int64_t keys) {
      const int64_t count = close_row(scores, limit, keys);
#pragma omp simd
      for (int64_t k = 0; k < count; ++k) scores[k] = vector_exp(scores[k] * scale + bias[k] - lse);
#pragma omp simd
      for (int64_t k = count; k < keys; ++k) scores[k] = 0;
    });

// Stores the dropped-out weights, and marks those that were dropped by a minus sign.
constexpr auto drop_gradient =
    vector_versions([](float* weights, const uint8_t* kept, float factor, int64_t keys, float* dropped) {
#pragma omp simd
      for (int64_t k = 0; k < keys; ++k) {
        dropped[k] = kept[k] ? weights[k] * factor : 0.0f;
        weights[k] = kept[k] ? weights[k] : -weights[k];
      }
    });

constexpr auto dot = vector_versions([](const float* a, const float* b, int64_t count) -> float {
  float sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t i = 0; i < count; ++i) sum += a[i] * b[i];
  return sum;
});

// d score = weight (keep / p d weight - sum over keys of weight d weight) / sqrt(d), of scores not yet scaled. With
// `uniform` weights the scores are constants.
constexpr auto score_grad = vector_versions(
    [](float* weights, const float* dweights, float factor, float mean, float scale, bool uniform, int64_t keys) {
      const float outer = uniform ? 0.0f : scale;
#pragma omp simd
      for (int64_t k = 0; k < keys; ++k) {
        const float scaled = factor * dweights[k];
        const float kept = weights[k] > 0.0f ? scaled : 0.0f;
        weights[k] = __builtin_fabsf(weights[k]) * (kept - mean) * outer;
      }
    });

// (q, k, v, context, lse, dcontext [[, valid queries], valid keys]) -> (dq, dk, dv).
class AttentionGradKernel : public Kernel {
 public:
  explicit AttentionGradKernel(const KernelArguments& arguments)
      : shape_(arguments),
        dropout_(arguments.attributes->as<AttentionAttributes>().dropout, shape_.all_scores()),
        query_(arguments.inputs[0].f32()),
        key_(arguments.inputs[1].f32()),
        value_(arguments.inputs[2].f32()),
        context_(arguments.inputs[3].f32()),
        lse_(arguments.inputs[4].f32()),
        dcontext_(arguments.inputs[5].f32()),
        dquery_(arguments.outputs[0].f32()),
        dkey_(arguments.outputs[1].f32()),
        dvalue_(arguments.outputs[2].f32()),
        threads_(arguments.threads) {
    for (int thread = 0; thread < threads_; ++thread) {
      lanes_.emplace_back(shape_, arguments, WorkspaceCursor(arguments, thread), thread);
    }
  }

  void run(const StepContext& context) override {
    dropout_.start_step(context);
    const int64_t served = shape_.heads / shape_.key_heads;
    parallel_for(threads_, shape_.batch * shape_.key_heads, 1, [&](int64_t begin, int64_t end, int thread) {
      Lane& lane = lanes_[thread];
      for (int64_t i = begin; i < end; ++i) {
        const int64_t b = i / shape_.key_heads, first = i % shape_.key_heads * served;
        if (first == 0 || i == begin) lane.mask.start_sequence(b);
        for (int64_t h = first; h < first + served; ++h) {
          for (int64_t block = 0; block < shape_.block_count(); ++block) differentiate(lane, b, h, block, h > first);
        }
      }
    });
  }

 private:
  // The products of one block of queries.
  struct Products {
    MatrixProduct to_scores, to_queries, to_keys;
    std::optional<MatrixProduct> more_to_keys;  // of further query heads that the key head serves

    Products(const AttentionShape& shape, int64_t block, int64_t workspace_bytes, int lane)
        : to_scores(shape.heads_to_scores(shape.block_size(block)), 1, workspace_bytes, lane),
          to_queries(shape.scores_to_queries(shape.block_size(block)), 1, workspace_bytes, lane),
          to_keys(shape.scores_to_keys(shape.block_size(block), block > 0), 1, workspace_bytes, lane) {
      if (shape.heads == shape.key_heads || block > 0) return;
      more_to_keys.emplace(shape.scores_to_keys(shape.block_size(block), true), 1, workspace_bytes, lane);
    }
  };

  struct Lane {
    float* weights;
    float* dweights;
    AttentionMask mask;
    std::vector<uint8_t> kept;
    void* scratch;
    std::vector<Products> products;  // of the first, the middle and the last block

    Lane(const AttentionShape& shape, const KernelArguments& arguments, WorkspaceCursor workspace, int lane)
        : weights(workspace.take(shape.block() * shape.keys)),
          dweights(workspace.take(shape.block() * shape.keys)),
          mask(shape, arguments, 6, workspace.take(shape.keys)),
          kept(static_cast<size_t>(shape.keys)),
          scratch(workspace.rest()) {
      const int64_t count = shape.block_count();
      for (int64_t block : {int64_t{0}, std::min<int64_t>(1, count - 1), count - 1}) {
        products.emplace_back(shape, block, workspace.left(), lane);
      }
    }
  };

  void differentiate(Lane& lane, int64_t b, int64_t h, int64_t block, bool more) {
    Products& products = lane.products[block == 0 ? 0 : block + 1 < shape_.block_count() ? 1 : 2];
    const int64_t first = block * shape_.block(), rows = shape_.block_size(block);
    const int64_t query = shape_.query_offset(b, h, first), key = shape_.key_offset(b, h);
    MatrixProduct& to_keys = more && products.more_to_keys ? *products.more_to_keys : products.to_keys;
    products.to_scores.run(query_ + query, key_ + key, lane.weights, lane.scratch);
    for (int64_t row = 0; row < rows; ++row) weigh(lane, b, h, first + row, row * shape_.keys);
    to_keys.run(dropout_.active() ? lane.dweights : lane.weights, dcontext_ + query, dvalue_ + key, lane.scratch);
    products.to_scores.run(dcontext_ + query, value_ + key, lane.dweights, lane.scratch);
    for (int64_t row = 0; row < rows; ++row) {
      const int64_t q = first + row, at = query + row * shape_.row_stride();
      const float mean = dot(dcontext_ + at, context_ + at, shape_.head_size);
      score_grad(lane.weights + row * shape_.keys, lane.dweights + row * shape_.keys, factor(), mean, shape_.scale,
                 lane.mask.is_uniform(q), shape_.keys);
    }
    products.to_queries.run(lane.weights, key_ + key, dquery_ + query, lane.scratch);
    to_keys.run(lane.weights, query_ + query, dkey_ + key, lane.scratch);
  }

  float factor() const { return dropout_.active() ? 1.0f / dropout_.keep_probability() : 1.0f; }

  void weigh(Lane& lane, int64_t b, int64_t h, int64_t q, int64_t at) {
    float* weights = lane.weights + at;
    if (lane.mask.is_uniform(q)) {
      std::fill(weights, weights + shape_.keys, 1.0f / static_cast<float>(shape_.keys));
    } else {
      weights_from_scores(weights, lane.mask.bias(), shape_.scale, lse_[(b * shape_.heads + h) * shape_.queries + q],
                          lane.mask.limit(q), shape_.keys);
    }
    if (!dropout_.active()) return;
    dropout_.fill(shape_.score_index(b, h, q), lane.kept);
    drop_gradient(weights, lane.kept.data(), factor(), shape_.keys, lane.dweights + at);
  }

  AttentionShape shape_;
  DropoutMask dropout_;
  const float* query_;
  const float* key_;
  const float* value_;
  const float* context_;
  const float* lse_;
  const float* dcontext_;
  float* dquery_;
  float* dkey_;
  float* dvalue_;
  int threads_;
  std::vector<Lane> lanes_;
};

}  // namespace

std::vector<NamedKernel> attention_grad_kernels() {
  return {{"attention_grad", "f32,f32,f32,f32,f32,f32->f32,f32,f32", construct<AttentionGradKernel>},
          {"attention_grad", "f32,f32,f32,f32,f32,f32,i32->f32,f32,f32", construct<AttentionGradKernel>},
          {"attention_grad", "f32,f32,f32,f32,f32,f32,i32,i32->f32,f32,f32", construct<AttentionGradKernel>}};
}

}  // namespace shardscope
