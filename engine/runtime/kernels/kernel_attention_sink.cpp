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
void attention_sink(const KernelArguments& of, const StepContext&) {
  const ContextShape shape(of.inputs[0]);
  const float *context = of.inputs[0].f32(), *lse = of.inputs[1].f32(), *sinks = of.inputs[2].f32();
  float* result = of.outputs[0].f32();
  parallel_for(of.threads, shape.batch * shape.queries, 1, [&](int64_t begin, int64_t end, int) {
    for (int64_t row = begin; row < end; ++row) {
      const int64_t b = row / shape.queries, q = row % shape.queries;
      for (int64_t h = 0; h < shape.heads; ++h) {
        const float share = vector_sigmoid(lse[shape.lse(b, q, h)] - sinks[h]);
        const int64_t at = shape.context(b, q, h);
        for (int64_t d = 0; d < shape.size; ++d) result[at + d] = context[at + d] * share;
      }
    }
  });
}

// (d y, context, lse, sinks) -> (d context, d lse, d sinks). The sum over queries is taken in double, head by head.
void attention_sink_grad(const KernelArguments& of, const StepContext&) {
  const ContextShape shape(of.inputs[0]);
  const float *all_dy = of.inputs[0].f32(), *context = of.inputs[1].f32();
  const float *lse = of.inputs[2].f32(), *sinks = of.inputs[3].f32();
  float *dcontext = of.outputs[0].f32(), *dlse = of.outputs[1].f32(), *dsinks = of.outputs[2].f32();
  const auto differentiate = [&](int64_t h) {
    double total = 0;
    for (int64_t b = 0; b < shape.batch; ++b) {
      for (int64_t q = 0; q < shape.queries; ++q) {
        const int64_t at = shape.context(b, q, h), row = shape.lse(b, q, h);
        const float share = vector_sigmoid(lse[row] - sinks[h]);
        float product = 0;
        for (int64_t d = 0; d < shape.size; ++d) {
          const float dy = all_dy[at + d];
          product += dy * context[at + d];
          dcontext[at + d] = dy * share;
        }
        dlse[row] = product * share * (1.0f - share);
        total += dlse[row];
      }
    }
    return total;
  };
  parallel_for(of.threads, shape.heads, 1, [&](int64_t begin, int64_t end, int) {
    for (int64_t h = begin; h < end; ++h) dsinks[h] = static_cast<float>(-differentiate(h));
  });
}

}  // namespace

std::vector<NamedKernel> attention_sink_kernels() {
  return {{"attention_sink", "f32,f32,f32->f32", construct_function<attention_sink>},
          {"attention_sink_grad", "f32,f32,f32,f32->f32,f32,f32", construct_function<attention_sink_grad>}};
}

std::vector<KernelCase> attention_sink_kernel_cases(const CaseSizes& sizes) {
  if (sizes.dtype != DType::f32) return {};
  const TensorType query = sizes.query(), lse = sizes.log_sums(), sinks{{CaseSizes::heads}};
  return {{"attention_sink", {}, {query, lse, sinks}}, {"attention_sink_grad", {}, {query, query, lse, sinks}}};
}

}  // namespace shardscope
