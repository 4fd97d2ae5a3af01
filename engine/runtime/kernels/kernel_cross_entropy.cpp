#include <cmath>
#include <limits>

#include "engine/base/vector_versions.h"
#include "engine/ops/scale.h"
#include "engine/runtime/kernels/kernel_case.h"
#include "engine/runtime/kernels/logits_row.h"
#include "engine/runtime/kernels/named_kernel.h"
#include "engine/runtime/kernels/parallel.h"
#include "engine/runtime/kernels/vector_math.h"

namespace shardscope {

namespace {

constexpr auto row_maxima = vector_versions([](const float* x, int64_t rows, int64_t columns, float* maxima) {
  for (int64_t row = 0; row < rows; ++row) maxima[row] = largest_of(x + row * columns, columns);
});

constexpr auto row_terms = vector_versions([](const float* x, float top, int64_t columns, float& sum, int32_t& first) {
  sum = sum_of_exponentials(x, top, columns);
  first = first_index_of(x, top, columns);
});

constexpr auto scaled_exponentials =
    vector_versions([](const float* x, float shift, float scale, int64_t count, float* y) {
#pragma omp simd
      for (int64_t i = 0; i < count; ++i) y[i] = vector_exp(x[i] - shift) * scale;
    });

constexpr float not_a_number = std::numeric_limits<float>::quiet_NaN();

// The part of the vocabulary that is held here.
struct Vocabulary {
  int64_t first, size, whole;

  explicit Vocabulary(const TensorView& logits)
      : first(logits.offset.back()), size(logits.shape.back()), whole(logits.global_shape.back()) {}
  bool holds(int32_t label) const { return label >= first && label < first + size; }
  bool is_label(int32_t label) const { return label >= 0 && label < whole; }
};

// logits -> largest of each row.
void row_max(const KernelArguments& of, const StepContext&) {
  const float* logits = of.inputs[0].f32();
  float* top = of.outputs[0].f32();
  const int64_t columns = of.inputs[0].shape.back();
  parallel_for(of.threads, of.outputs[0].count(), 16, [&](int64_t begin, int64_t end, int) {
    row_maxima(logits + begin * columns, end - begin, columns, top + begin);
  });
}

// (logits, labels, top) -> (exp_sum, label_logit, first).
void cross_entropy_terms(const KernelArguments& of, const StepContext&) {
  const Vocabulary vocabulary(of.inputs[0]);
  const int32_t* labels = of.inputs[1].i32();
  const float *all_logits = of.inputs[0].f32(), *top = of.inputs[2].f32();
  float *exp_sum = of.outputs[0].f32(), *label_logit = of.outputs[1].f32();
  int32_t* first = of.outputs[2].i32();
  parallel_for(of.threads, of.inputs[1].count(), 16, [&](int64_t begin, int64_t end, int) {
    for (int64_t row = begin; row < end; ++row) {
      const float* logits = all_logits + row * vocabulary.size;
      int32_t found = 0;
      row_terms(logits, top[row], vocabulary.size, exp_sum[row], found);
      label_logit[row] = !vocabulary.is_label(labels[row]) ? not_a_number
                         : vocabulary.holds(labels[row])   ? logits[labels[row] - vocabulary.first]
                                                           : 0.0f;
      first[row] = found == vocabulary.size ? std::numeric_limits<int32_t>::min()
                                            : -static_cast<int32_t>(vocabulary.first + found);
    }
  });
}

// (logits, labels, d exp_sum, d label_logit, top) -> d logits.
void cross_entropy_terms_grad(const KernelArguments& of, const StepContext&) {
  const Vocabulary vocabulary(of.inputs[0]);
  const int32_t* labels = of.inputs[1].i32();
  const float *logits = of.inputs[0].f32(), *exp_sum_grad = of.inputs[2].f32();
  const float *label_logit_grad = of.inputs[3].f32(), *top = of.inputs[4].f32();
  float* all_grads = of.outputs[0].f32();
  parallel_for(of.threads, of.inputs[1].count(), 16, [&](int64_t begin, int64_t end, int) {
    for (int64_t row = begin; row < end; ++row) {
      float* grad = all_grads + row * vocabulary.size;
      scaled_exponentials(logits + row * vocabulary.size, top[row], exp_sum_grad[row], vocabulary.size, grad);
      if (vocabulary.holds(labels[row])) grad[labels[row] - vocabulary.first] += label_logit_grad[row];
    }
  });
}

// (top, exp_sum, label_logit, first, labels [, weights]) -> (loss, accuracy).
void cross_entropy(const KernelArguments& of, const StepContext&) {
  const float *top = of.inputs[0].f32(), *exp_sum = of.inputs[1].f32(), *label_logit = of.inputs[2].f32();
  const int32_t *first = of.inputs[3].i32(), *labels = of.inputs[4].i32();
  const float* weights = of.inputs.size() > 5 ? of.inputs[5].f32() : nullptr;
  const double scale = of.attributes->as<ScaleAttributes>().scale;
  double loss = 0, hits = 0;
  for (int64_t row = 0; row < of.inputs[4].count(); ++row) {
    const double weight = weights ? weights[row] : 1.0;
    loss += weight * (static_cast<double>(top[row] + std::log(exp_sum[row])) - label_logit[row]);
    if (first[row] == -labels[row]) hits += weight;
  }
  *of.outputs[0].f32() = static_cast<float>(loss * scale);
  *of.outputs[1].f32() = static_cast<float>(hits * scale);
}

// (exp_sum, d loss [, weights]) -> (d exp_sum, d label_logit).
void cross_entropy_grad(const KernelArguments& of, const StepContext&) {
  const float *exp_sum = of.inputs[0].f32(), *weights = of.inputs.size() > 2 ? of.inputs[2].f32() : nullptr;
  float *exp_sum_grad = of.outputs[0].f32(), *label_logit_grad = of.outputs[1].f32();
  const float scale = *of.inputs[1].f32() * static_cast<float>(of.attributes->as<ScaleAttributes>().scale);
  for (int64_t row = 0; row < of.inputs[0].count(); ++row) {
    const float share = weights ? weights[row] * scale : scale;
    exp_sum_grad[row] = share / exp_sum[row];
    label_logit_grad[row] = -share;
  }
}

}  // namespace

std::vector<NamedKernel> cross_entropy_kernels() {
  return {{"row_max", "f32->f32", construct_function<row_max>},
          {"cross_entropy_terms", "f32,i32,f32->f32,f32,i32", construct_function<cross_entropy_terms>},
          {"cross_entropy_terms_grad", "f32,i32,f32,f32,f32->f32", construct_function<cross_entropy_terms_grad>},
          {"cross_entropy", "f32,f32,f32,i32,i32->f32,f32", construct_function<cross_entropy>},
          {"cross_entropy", "f32,f32,f32,i32,i32,f32->f32,f32", construct_function<cross_entropy>},
          {"cross_entropy_grad", "f32,f32->f32,f32", construct_function<cross_entropy_grad>},
          {"cross_entropy_grad", "f32,f32,f32->f32,f32", construct_function<cross_entropy_grad>}};
}

std::vector<KernelCase> cross_entropy_kernel_cases(const CaseSizes& sizes) {
  if (sizes.dtype != DType::f32) return {};
  const TensorType x = sizes.x(), r = sizes.row(), labels = sizes.labels();
  const ScaleAttributes half{0.5};
  return {{"row_max", {}, {x}},
          {"cross_entropy_terms", {}, {x, labels, r}},
          {"cross_entropy_terms_grad", {}, {x, labels, r, r, r}},
          {"cross_entropy", half, {r, r, r, labels, labels}},
          {"cross_entropy_grad", half, {r, sizes.scalar()}}};
}

}  // namespace shardscope
