#include <cmath>
#include <limits>

#include "engine/base/vector_versions.h"
#include "engine/ops/attention.h"
#include "engine/runtime/kernels/attention_head.h"
#include "engine/runtime/kernels/kernel_families.h"
#include "engine/runtime/kernels/parallel.h"
#include "engine/runtime/kernels/vector_math.h"

namespace shardscope {

namespace {

// Turns the first `limit` of `keys` scores into weights, the others into zeros; returns the log-sum-exp.
constexpr auto softmax =
    vector_versions([](float* scores, const float* bias, float scale, int64_t limit, int64_t keys) -> float {
      const int64_t count = close_row(scores, limit, keys);
      float top = -std::numeric_limits<float>::infinity();
#pragma omp simd reduction(max : top)
      for (int64_t k = 0; k < count; ++k) {
        scores[k] = scores[k] * scale + bias[k];
        top = scores[k] > top ? scores[k] : top;
      }
      float sum = 0;
#pragma omp simd reduction(+ : sum)
      for (int64_t k = 0; k < count; ++k) {
        scores[k] = vector_exp(scores[k] - top);
        sum += scores[k];
      }
      const float share = 1.0f / sum;
#pragma omp simd
      for (int64_t k = 0; k < count; ++k) scores[k] *= share;
#pragma omp simd
      for (int64_t k = count; k < keys; ++k) scores[k] = 0;
      return top + std::log(sum);
    });

constexpr auto drop = vector_versions([](float* weights, const uint8_t* kept, float factor, int64_t keys) {
#pragma omp simd
  for (int64_t k = 0; k < keys; ++k) weights[k] = kept[k] ? weights[k] * factor : 0.0f;
});

// (q, k, v [[, valid queries], valid keys]) -> (context, lse).
class AttentionKernel : public Kernel {
 public:
  explicit AttentionKernel(const KernelArguments& arguments)
      : shape_(arguments),
        dropout_(arguments.attributes->as<AttentionAttributes>().dropout, shape_.all_scores()),
        query_(arguments.inputs[0].f32()),
        key_(arguments.inputs[1].f32()),
        value_(arguments.inputs[2].f32()),
        context_(arguments.outputs[0].f32()),
        lse_(arguments.outputs[1].f32()),
        threads_(arguments.threads) {
    for (int thread = 0; thread < threads_; ++thread) {
      lanes_.emplace_back(shape_, arguments, WorkspaceCursor(arguments, thread), thread);
    }
  }

  void run(const StepContext& context) override {
    dropout_.start_step(context);
    parallel_for(threads_, shape_.batch * shape_.heads, 1, [&](int64_t begin, int64_t end, int thread) {
      Lane& lane = lanes_[thread];
      for (int64_t i = begin; i < end; ++i) {
        const int64_t b = i / shape_.heads, h = i % shape_.heads;
        if (h == 0 || i == begin) lane.mask.start_sequence(b);
        for (int64_t block = 0; block < shape_.block_count(); ++block) attend(lane, b, h, block);
      }
    });
  }

 private:
  struct Lane {
    float* scores;
    AttentionMask mask;
    std::vector<uint8_t> kept;
    void* scratch;
    MatrixProduct scores_of_block, context_of_block, scores_of_last, context_of_last;

    Lane(const AttentionShape& shape, const KernelArguments& arguments, WorkspaceCursor workspace, int lane)
        : scores(workspace.take(shape.block() * shape.keys)),
          mask(shape, arguments, 3, workspace.take(shape.keys)),
          kept(static_cast<size_t>(shape.keys)),
          scratch(workspace.rest()),
          scores_of_block(shape.heads_to_scores(shape.block()), 1, workspace.left(), lane),
          context_of_block(shape.scores_to_queries(shape.block()), 1, workspace.left(), lane),
          scores_of_last(shape.heads_to_scores(shape.block_size(shape.block_count() - 1)), 1, workspace.left(), lane),
          context_of_last(shape.scores_to_queries(shape.block_size(shape.block_count() - 1)), 1, workspace.left(),
                          lane) {}
  };

  void attend(Lane& lane, int64_t b, int64_t h, int64_t block) {
    const bool last = block + 1 == shape_.block_count();
    const int64_t first = block * shape_.block();
    const int64_t query = shape_.query_offset(b, h, first), key = shape_.key_offset(b, h);
    (last ? lane.scores_of_last : lane.scores_of_block).run(query_ + query, key_ + key, lane.scores, lane.scratch);
    for (int64_t row = 0; row < shape_.block_size(block); ++row) {
      const int64_t q = first + row;
      float* scores = lane.scores + row * shape_.keys;
      lse_[(b * shape_.heads + h) * shape_.queries + q] = weigh(lane, scores, q);
      if (dropout_.active()) {
        dropout_.fill(shape_.score_index(b, h, q), lane.kept);
        drop(scores, lane.kept.data(), 1.0f / dropout_.keep_probability(), shape_.keys);
      }
    }
    (last ? lane.context_of_last : lane.context_of_block)
        .run(lane.scores, value_ + key, context_ + query, lane.scratch);
  }

  float weigh(const Lane& lane, float* scores, int64_t q) const {
    if (!lane.mask.is_uniform(q)) {
      return softmax(scores, lane.mask.bias(), shape_.scale, lane.mask.limit(q), shape_.keys);
    }
    std::fill(scores, scores + shape_.keys, 1.0f / static_cast<float>(shape_.keys));
    return std::numeric_limits<float>::lowest();
  }

  AttentionShape shape_;
  DropoutMask dropout_;
  const float* query_;
  const float* key_;
  const float* value_;
  float* context_;
  float* lse_;
  int threads_;
  std::vector<Lane> lanes_;
};

}  // namespace

std::vector<NamedKernel> attention_kernels() {
  return {{"attention", "f32,f32,f32->f32,f32", construct<AttentionKernel>},
          {"attention", "f32,f32,f32,i32->f32,f32", construct<AttentionKernel>},
          {"attention", "f32,f32,f32,i32,i32->f32,f32", construct<AttentionKernel>}};
}

}  // namespace shardscope
