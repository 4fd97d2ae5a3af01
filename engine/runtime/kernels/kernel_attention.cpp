#include <algorithm>
#include <limits>

#include "engine/ops/attention.h"
#include "engine/runtime/kernels/attention_head.h"
#include "engine/runtime/kernels/attention_scores.h"
#include "engine/runtime/kernels/kernel_case.h"
#include "engine/runtime/kernels/named_kernel.h"
#include "engine/runtime/kernels/parallel.h"

namespace shardscope {

namespace {

// (q, k, v [[, valid queries], valid keys]) -> (context, lse).
class AttentionKernel : public Kernel {
 public:
  explicit AttentionKernel(const KernelArguments& arguments)
      : shape_(arguments),
        loops_(attention_loops()),
        adjustment_(shape_, arguments),
        dropout_(arguments.attributes->as<AttentionAttributes>().dropout, shape_.all_scores()),
        query_(arguments.inputs[0].f32()),
        key_(arguments.inputs[1].f32()),
        value_(arguments.inputs[2].f32()),
        context_(arguments.outputs[0].f32()),
        lse_(arguments.outputs[1].f32()),
        threads_(arguments.threads) {
    for (int thread = 0; thread < threads_; ++thread) {
      scratch_.emplace_back(shape_, arguments, WorkspaceCursor(arguments, thread));
    }
  }

  void run(const StepContext& context) override {
    dropout_.start_step(context);
    parallel_for(threads_, shape_.batch * shape_.heads, 1, [&](int64_t begin, int64_t end, int thread) {
      Scratch& scratch = scratch_[thread];
      for (int64_t i = begin; i < end; ++i) {
        const int64_t b = i / shape_.heads, h = i % shape_.heads;
        if (h == 0 || i == begin) scratch.mask.start_sequence(b);
        loops_.copy(value_ + shape_.key_offset(b, h), shape_.key_row_stride(), shape_.keys, shape_.head_size,
                    scratch.values, shape_.head_row());
        for (int64_t block = 0; block < shape_.block_count(); ++block) attend(scratch, b, h, block);
      }
    });
  }

 private:
  // Of one thread.
  struct Scratch {
    float *scores, *queries, *values, *lse, *shares;
    AttentionMask mask;
    KeptWeights kept;

    Scratch(const AttentionShape& shape, const KernelArguments& arguments, WorkspaceCursor workspace)
        : scores(workspace.take(shape.keys * shape.score_row())),
          queries(workspace.take(shape.head_size * shape.score_row())),
          values(workspace.take(shape.keys * shape.head_row())),
          lse(workspace.take(shape.score_row())),
          shares(workspace.take(shape.score_row())),
          mask(shape, arguments, 3),
          kept(shape, arguments) {}
  };

  void attend(Scratch& scratch, int64_t b, int64_t h, int64_t block) {
    const int64_t first = block * shape_.block(), rows = shape_.block_size(block), row = shape_.score_row();
    const int64_t first_key = shape_.first_key(first), query = shape_.query_offset(b, h, first);
    const int64_t key = shape_.key_offset(b, h) + first_key * shape_.key_row_stride();
    const TransposedScores scores = scratch.mask.layout(scratch.scores, first, rows);
    const AttentionShape::Block next = shape_.after({b, h, block});
    loops_.transpose(query_ + query, shape_.row_stride(), rows, shape_.head_size, shape_.query_factor, scratch.queries,
                     row);
    loops_.multiply({.m = scores.keys,
                     .n = row,
                     .k = shape_.head_size,
                     .a = key_ + key,
                     .a_row = shape_.key_row_stride(),
                     .a_column = 1,
                     .b = scratch.queries,
                     .b_row = row,
                     .c = scores.scores,
                     .c_row = row,
                     .prefetch = shape_.prefetch_keys(next, key_, value_)});
    if (adjustment_.active()) adjustment_.apply(scores, h, first, rows);
    loops_.softmax(scores, scratch.lse, scratch.shares);
    if (scratch.mask.hides_all()) {
      for (int64_t i = 0; i < rows; ++i) make_uniform(scratch, first + i, i);
    }
    std::copy_n(scratch.lse, rows, lse_ + (b * shape_.heads + h) * shape_.queries + first);
    if (dropout_.active()) {
      scratch.kept.draw(dropout_, shape_, b, h, first, rows);
      scratch.kept.apply(1.0f / dropout_.keep_probability(), rows, scores, scores.scores);
    }
    loops_.multiply({.m = rows,
                     .n = shape_.head_size,
                     .k = scores.keys,
                     .a = scores.scores,
                     .a_row = 1,
                     .a_column = row,
                     .b = scratch.values + first_key * shape_.head_row(),
                     .b_row = shape_.head_row(),
                     .c = context_ + query,
                     .c_row = shape_.row_stride(),
                     .row_scale = scratch.shares,
                     .prefetch = shape_.prefetch_queries(next, query_, context_)});
  }

  // Where query q sees no key: in column i of the scores.
  void make_uniform(Scratch& scratch, int64_t q, int64_t i) const {
    if (!scratch.mask.is_uniform(q)) return;
    for (int64_t k = 0; k < shape_.keys; ++k) scratch.scores[k * shape_.score_row() + i] = 1;
    scratch.shares[i] = 1.0f / static_cast<float>(shape_.keys);
    scratch.lse[i] = std::numeric_limits<float>::lowest();
  }

  AttentionShape shape_;
  const AttentionLoops& loops_;
  ScoreAdjustment adjustment_;
  DropoutMask dropout_;
  const float* query_;
  const float* key_;
  const float* value_;
  float* context_;
  float* lse_;
  int threads_;
  std::vector<Scratch> scratch_;
};

}  // namespace

std::vector<NamedKernel> attention_kernels() {
  return {{"attention", "f32,f32,f32->f32,f32", construct<AttentionKernel>},
          {"attention", "f32,f32,f32,i32->f32,f32", construct<AttentionKernel>},
          {"attention", "f32,f32,f32,i32,i32->f32,f32", construct<AttentionKernel>}};
}

std::vector<KernelCase> attention_kernel_cases(const CaseSizes& sizes) {
  if (sizes.dtype != DType::f32) return {};
  const TensorType query = sizes.query();
  return {{"attention", AttentionAttributes{false, {}}, {query, query, query}},
          {"attention", AttentionAttributes{true, {}}, {query, query, query}}};
}

}  // namespace shardscope
