#include <algorithm>
#include <vector>

#include "engine/runtime/kernels/kernel_case.h"
#include "engine/runtime/kernels/named_kernel.h"
#include "engine/runtime/kernels/parallel.h"
#include "engine/runtime/kernels/vector_math.h"

namespace shardscope {

namespace {

// Sizes of context (b, q, h, d).
struct ContextShape {
  explicit ContextShape(const TensorView& context)
      : batch(context.shape[0]), queries(context.shape[1]), heads(context.shape[2]), size(context.shape[3]) {}
  int64_t batch, queries, heads, size;

  int64_t context(int64_t b, int64_t q, int64_t h) const { return ((b * queries + q) * heads + h) * size; }
  int64_t lse(int64_t b, int64_t q, int64_t h) const { return (b * heads + h) * queries + q; }
};

// (context, lse, sinks) -> the context with sinks.
class AttentionSinkKernel : public Kernel {
 public:
  explicit AttentionSinkKernel(const KernelArguments& arguments)
      : shape_(arguments.inputs[0]),
        context_(arguments.inputs[0].f32()),
        lse_(arguments.inputs[1].f32()),
        sinks_(arguments.inputs[2].f32()),
        result_(arguments.outputs[0].f32()),
        threads_(arguments.threads) {}

  void run(const StepContext&) override {
    parallel_for(threads_, shape_.batch * shape_.queries, 1, [&](int64_t begin, int64_t end, int) {
      for (int64_t row = begin; row < end; ++row) {
        const int64_t b = row / shape_.queries, q = row % shape_.queries;
        for (int64_t h = 0; h < shape_.heads; ++h) {
          const float share = vector_sigmoid(lse_[shape_.lse(b, q, h)] - sinks_[h]);
          const int64_t at = shape_.context(b, q, h);
          for (int64_t d = 0; d < shape_.size; ++d) result_[at + d] = context_[at + d] * share;
        }
      }
    });
  }

 private:
  ContextShape shape_;
  const float *context_, *lse_, *sinks_;
  float* result_;
  int threads_;
};

// (d y, context, lse, sinks) -> (d context, d lse, d sinks). The sum over queries is taken in double, head by head.
class AttentionSinkGradKernel : public Kernel {
 public:
  explicit AttentionSinkGradKernel(const KernelArguments& arguments)
      : shape_(arguments.inputs[0]),
        dy_(arguments.inputs[0].f32()),
        context_(arguments.inputs[1].f32()),
        lse_(arguments.inputs[2].f32()),
        sinks_(arguments.inputs[3].f32()),
        dcontext_(arguments.outputs[0].f32()),
        dlse_(arguments.outputs[1].f32()),
        dsinks_(arguments.outputs[2].f32()),
        threads_(arguments.threads) {}

  void run(const StepContext&) override {
    parallel_for(threads_, shape_.heads, 1, [&](int64_t begin, int64_t end, int) {
      for (int64_t h = begin; h < end; ++h) dsinks_[h] = static_cast<float>(-differentiate(h));
    });
  }

 private:
  double differentiate(int64_t h) const {
    double total = 0;
    for (int64_t b = 0; b < shape_.batch; ++b) {
      for (int64_t q = 0; q < shape_.queries; ++q) {
        const int64_t at = shape_.context(b, q, h), row = shape_.lse(b, q, h);
        const float share = vector_sigmoid(lse_[row] - sinks_[h]);
        float product = 0;
        for (int64_t d = 0; d < shape_.size; ++d) {
          const float dy = dy_[at + d];
          product += dy * context_[at + d];
          dcontext_[at + d] = dy * share;
        }
        dlse_[row] = product * share * (1.0f - share);
        total += dlse_[row];
      }
    }
    return total;
  }

  ContextShape shape_;
  const float *dy_, *context_, *lse_, *sinks_;
  float *dcontext_, *dlse_, *dsinks_;
  int threads_;
};

}  // namespace

std::vector<NamedKernel> attention_sink_kernels() {
  return {{"attention_sink", "f32,f32,f32->f32", construct<AttentionSinkKernel>},
          {"attention_sink_grad", "f32,f32,f32,f32->f32,f32,f32", construct<AttentionSinkGradKernel>}};
}

std::vector<KernelCase> attention_sink_kernel_cases(const CaseSizes& sizes) {
  if (sizes.dtype != DType::f32) return {};
  const TensorType query = sizes.query(), lse = sizes.log_sums(), sinks{{CaseSizes::heads}};
  return {{"attention_sink", {}, {query, lse, sinks}}, {"attention_sink_grad", {}, {query, query, lse, sinks}}};
}

}  // namespace shardscope
