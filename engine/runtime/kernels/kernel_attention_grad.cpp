#include <algorithm>
#include <numbers>

#include "engine/ops/attention.h"
#include "engine/runtime/kernels/attention_head.h"
#include "engine/runtime/kernels/attention_scores.h"
#include "engine/runtime/kernels/kernel_case.h"
#include "engine/runtime/kernels/named_kernel.h"
#include "engine/runtime/kernels/parallel.h"

namespace shardscope {

namespace {

// (q, k, v, context, lse, dcontext [, dlse] [[, valid queries], valid keys]) -> (dq, dk, dv).
class AttentionGradKernel : public Kernel {
 public:
  explicit AttentionGradKernel(const KernelArguments& arguments)
      : shape_(arguments),
        loops_(attention_loops()),
        adjustment_(shape_, arguments),
        dropout_(arguments.attributes->as<AttentionAttributes>().dropout, shape_.all_scores()),
        query_(arguments.inputs[0].f32()),
        key_(arguments.inputs[1].f32()),
        value_(arguments.inputs[2].f32()),
        context_(arguments.inputs[3].f32()),
        lse_(arguments.inputs[4].f32()),
        dcontext_(arguments.inputs[5].f32()),
        dlse_(has_dlse(arguments) ? arguments.inputs[6].f32() : nullptr),
        dquery_(arguments.outputs[0].f32()),
        dkey_(arguments.outputs[1].f32()),
        dvalue_(arguments.outputs[2].f32()),
        threads_(arguments.threads) {
    for (int thread = 0; thread < threads_; ++thread) {
      scratch_.emplace_back(shape_, arguments, WorkspaceCursor(arguments, thread));
    }
  }

  void run(const StepContext& context) override {
    dropout_.start_step(context);
    const int64_t served = shape_.heads / shape_.key_heads;
    parallel_for(threads_, shape_.batch * shape_.key_heads, 1, [&](int64_t begin, int64_t end, int thread) {
      Scratch& scratch = scratch_[thread];
      for (int64_t i = begin; i < end; ++i) {
        const int64_t b = i / shape_.key_heads, first = i % shape_.key_heads * served;
        if (first == 0 || i == begin) scratch.mask.start_sequence(b);
        loops_.copy(key_ + shape_.key_offset(b, first), shape_.key_row_stride(), shape_.keys, shape_.head_size,
                    scratch.keys, shape_.head_row());
        for (int64_t h = first; h < first + served; ++h) {
          for (int64_t block = 0; block < shape_.block_count(); ++block) {
            differentiate(scratch, b, h, block, h > first || block > 0);
          }
        }
      }
    });
  }

 private:
  static bool has_dlse(const KernelArguments& arguments) {
    return arguments.inputs.size() > 6 && arguments.inputs[6].dtype == DType::f32;
  }

  // Of one thread. Queries and d context of a block are held as they are and transposed, with factors.
  struct Scratch {
    float *weights, *dweights, *queries, *dcontext, *queries_transposed, *dcontext_transposed, *keys, *lse, *means;
    float* slopes;  // of a soft cap: of the scores after it
    AttentionMask mask;
    KeptWeights kept;

    Scratch(const AttentionShape& shape, const KernelArguments& arguments, WorkspaceCursor workspace)
        : weights(workspace.take(shape.keys * shape.score_row())),
          dweights(workspace.take(shape.keys * shape.score_row())),
          queries(workspace.take(shape.block() * shape.head_row())),
          dcontext(workspace.take(shape.block() * shape.head_row())),
          queries_transposed(workspace.take(shape.head_size * shape.score_row())),
          dcontext_transposed(workspace.take(shape.head_size * shape.score_row())),
          keys(workspace.take(shape.keys * shape.head_row())),
          lse(workspace.take(shape.score_row())),
          means(workspace.take(shape.score_row())),
          slopes(arguments.attributes->as<AttentionAttributes>().soft_cap > 0
                     ? workspace.take(shape.keys * shape.score_row())
                     : nullptr),
          mask(shape, arguments, has_dlse(arguments) ? 7 : 6),
          kept(shape, arguments) {
      std::fill_n(lse, shape.score_row(), 0.0f);
      std::fill_n(means, shape.score_row(), 0.0f);
    }
  };

  void differentiate(Scratch& scratch, int64_t b, int64_t h, int64_t block, bool accumulate) {
    const int64_t first = block * shape_.block(), rows = shape_.block_size(block);
    const int64_t first_key = shape_.first_key(first), query = shape_.query_offset(b, h, first);
    const int64_t head = shape_.key_offset(b, h), key = head + first_key * shape_.key_row_stride();
    const TransposedScores scores = scratch.mask.layout(scratch.weights, first, rows);
    const AttentionShape::Block next = shape_.after({b, h, block});
    take_block(query_ + query, rows, shape_.query_factor, scratch.queries, scratch.queries_transposed);
    take_block(dcontext_ + query, rows, shape_.scale, scratch.dcontext, scratch.dcontext_transposed);
    to_scores(scores, key_ + key, scratch.queries_transposed, shape_.prefetch_keys(next, key_, value_),
              scratch.weights);
    to_scores(scores, value_ + key, scratch.dcontext_transposed, shape_.prefetch_keys(next, dkey_, dvalue_),
              scratch.dweights);
    loops_.row_dots(scratch.dcontext, shape_.head_row(), context_ + query, shape_.row_stride(), rows, shape_.head_size,
                    shape_.scale, scratch.means);
    const float* lse = lse_ + (b * shape_.heads + h) * shape_.queries + first;
    for (int64_t i = 0; i < rows; ++i) scratch.lse[i] = lse[i] * std::numbers::log2e_v<float>;
    if (dlse_) {
      const float* dlse = dlse_ + (lse - lse_);
      for (int64_t i = 0; i < rows; ++i) scratch.means[i] -= dlse[i] * shape_.scale;
    }
    if (adjustment_.active()) adjustment_.apply(scores, h, first, rows, scratch.slopes);
    const float factor = dropout_.active() ? 1.0f / dropout_.keep_probability() : 1.0f;
    if (dropout_.active()) {
      scratch.kept.draw(dropout_, shape_, b, h, first, rows);
      scratch.kept.apply(factor, rows, scores, scratch.dweights);
    }
    loops_.softmax_grad(scores, scratch.lse, scratch.means, scratch.dweights);
    if (scratch.slopes) {
      for (int64_t i = 0; i < scores.keys * scores.row; ++i) scratch.dweights[i] *= scratch.slopes[i];
    }
    if (scratch.mask.hides_all()) {
      for (int64_t i = 0; i < rows; ++i) make_uniform(scratch, first + i, i);
    }
    if (dropout_.active()) scratch.kept.apply(factor, rows, scores, scratch.weights);
    to_keys(scores, rows, scratch.weights, scratch.dcontext, accumulate,
            shape_.prefetch_queries(next, query_, dcontext_), first_key, dvalue_ + head);
    to_keys(scores, rows, scratch.dweights, scratch.queries, accumulate,
            shape_.prefetch_queries(next, context_, dquery_), first_key, dkey_ + head);
    loops_.multiply({.m = rows,
                     .n = shape_.head_size,
                     .k = scores.keys,
                     .a = scratch.dweights,
                     .a_row = 1,
                     .a_column = scores.row,
                     .b = scratch.keys + first_key * shape_.head_row(),
                     .b_row = shape_.head_row(),
                     .c = dquery_ + query,
                     .c_row = shape_.row_stride()});
  }

  void take_block(const float* from, int64_t rows, float factor, float* to, float* transposed) const {
    loops_.copy(from, shape_.row_stride(), rows, shape_.head_size, to, shape_.head_row());
    loops_.transpose(to, shape_.head_row(), rows, shape_.head_size, factor, transposed, shape_.score_row());
  }

  // Where query q sees no key: its weights, in column i, are equal, whatever its scores are.
  void make_uniform(Scratch& scratch, int64_t q, int64_t i) const {
    if (!scratch.mask.is_uniform(q)) return;
    for (int64_t k = 0; k < shape_.keys; ++k) {
      scratch.weights[k * shape_.score_row() + i] = 1.0f / static_cast<float>(shape_.keys);
      scratch.dweights[k * shape_.score_row() + i] = 0;
    }
  }

  // (keys, d) x (d, queries), of keys or values.
  void to_scores(const TransposedScores& scores, const float* head, const float* block_transposed,
                 const Prefetch& prefetch, float* to) const {
    loops_.multiply({.m = scores.keys,
                     .n = scores.row,
                     .k = shape_.head_size,
                     .a = head,
                     .a_row = shape_.key_row_stride(),
                     .a_column = 1,
                     .b = block_transposed,
                     .b_row = scores.row,
                     .c = to,
                     .c_row = scores.row,
                     .prefetch = prefetch});
  }

  // (keys, queries) x (queries, d), to d keys or d values. Keys that no query of the first block sees get zeros.
  void to_keys(const TransposedScores& scores, int64_t rows, const float* weights, const float* block, bool accumulate,
               const Prefetch& prefetch, int64_t first_key, float* to) const {
    loops_.multiply({.m = scores.keys,
                     .n = shape_.head_size,
                     .k = rows,
                     .a = weights,
                     .a_row = scores.row,
                     .a_column = 1,
                     .b = block,
                     .b_row = shape_.head_row(),
                     .c = to + first_key * shape_.key_row_stride(),
                     .c_row = shape_.key_row_stride(),
                     .accumulate = accumulate,
                     .prefetch = prefetch});
    if (accumulate) return;
    for (int64_t k = 0; k < shape_.keys; ++k) {
      if (k == first_key) k += scores.keys;
      if (k == shape_.keys) break;
      std::fill_n(to + k * shape_.key_row_stride(), shape_.head_size, 0.0f);
    }
  }

  AttentionShape shape_;
  const AttentionLoops& loops_;
  ScoreAdjustment adjustment_;
  DropoutMask dropout_;
  const float* query_;
  const float* key_;
  const float* value_;
  const float* context_;
  const float* lse_;
  const float* dcontext_;
  const float* dlse_;  // or nullptr
  float* dquery_;
  float* dkey_;
  float* dvalue_;
  int threads_;
  std::vector<Scratch> scratch_;
};

}  // namespace

std::vector<NamedKernel> attention_grad_kernels() {
  return {{"attention_grad", "f32,f32,f32,f32,f32,f32->f32,f32,f32", construct<AttentionGradKernel>},
          {"attention_grad", "f32,f32,f32,f32,f32,f32,f32->f32,f32,f32", construct<AttentionGradKernel>},
          {"attention_grad", "f32,f32,f32,f32,f32,f32,f32,i32->f32,f32,f32", construct<AttentionGradKernel>},
          {"attention_grad", "f32,f32,f32,f32,f32,f32,f32,i32,i32->f32,f32,f32", construct<AttentionGradKernel>},
          {"attention_grad", "f32,f32,f32,f32,f32,f32,i32->f32,f32,f32", construct<AttentionGradKernel>},
          {"attention_grad", "f32,f32,f32,f32,f32,f32,i32,i32->f32,f32,f32", construct<AttentionGradKernel>}};
}

std::vector<KernelCase> attention_grad_kernel_cases(const CaseSizes& sizes) {
  if (sizes.dtype != DType::f32) return {};
  const TensorType query = sizes.query(), lse = sizes.log_sums();
  return {{"attention_grad", AttentionAttributes{false, {}}, {query, query, query, query, lse, query}},
          {"attention_grad", AttentionAttributes{true, {}}, {query, query, query, query, lse, query}}};
}

}  // namespace shardscope
