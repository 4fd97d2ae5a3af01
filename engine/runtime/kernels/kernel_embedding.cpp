#include <algorithm>
#include <cstring>

#include "engine/base/vector_versions.h"
#include "engine/ops/embedding.h"
#include "engine/runtime/kernels/kernel_case.h"
#include "engine/runtime/kernels/named_kernel.h"
#include "engine/runtime/kernels/parallel.h"
#include "engine/runtime/kernels/storage.h"

namespace shardscope {

namespace {

constexpr auto accumulate = vector_versions([]<class T>(const T* source, int64_t count, float* sum) {
#pragma omp simd
  for (int64_t c = 0; c < count; ++c) sum[c] += load(source[c]);
});

// Copies the table's rows; a token outside the rows held here gives zeros.
template <class T>
void embedding(const KernelArguments& of, const StepContext&) {
  const int32_t* tokens = of.inputs[0].i32();
  const T* table = of.inputs[1].as<T>();
  T* rows = of.outputs[0].as<T>();
  const int64_t first = of.inputs[1].offset[0], held = of.inputs[1].shape[0], features = of.inputs[1].shape[1];
  const size_t bytes = static_cast<size_t>(features) * sizeof(T);
  parallel_for(of.threads, of.inputs[0].count(), 16, [&](int64_t begin, int64_t end, int) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t row = tokens[i] - first;
      T* destination = rows + i * features;
      if (row >= 0 && row < held) {
        std::memcpy(destination, table + row * features, bytes);
      } else {
        std::memset(destination, 0, bytes);
      }
    }
  });
}

// Adds each token's cotangent to its row. Threads share out the columns, so that the order of a sum is that of the
// tokens for any number of threads. Sums are f32, whatever the cotangent is.
template <class T>
void embedding_grad(const KernelArguments& of, const StepContext&) {
  const int32_t* tokens = of.inputs[0].i32();
  const T* cotangent = of.inputs[1].as<T>();
  float* table = of.outputs[0].f32();
  const int64_t count = of.inputs[0].count(), first = of.outputs[0].offset[0];
  const int64_t held = of.outputs[0].shape[0], features = of.outputs[0].shape[1];
  parallel_for(of.threads, features, 16, [&](int64_t begin, int64_t end, int) {
    for (int64_t row = 0; row < held; ++row) {
      std::fill(table + row * features + begin, table + row * features + end, 0.0f);
    }
    for (int64_t i = 0; i < count; ++i) {
      const int64_t row = tokens[i] - first;
      if (row < 0 || row >= held) continue;
      accumulate(cotangent + i * features + begin, end - begin, table + row * features + begin);
    }
  });
}

}  // namespace

std::vector<NamedKernel> embedding_kernels() {
  return {{"embedding", "i32,f32->f32", construct_function<embedding<float>>},
          {"embedding", "i32,bf16->bf16", construct_function<embedding<BFloat16>>},
          {"embedding_grad", "i32,f32->f32", construct_function<embedding_grad<float>>},
          {"embedding_grad", "i32,bf16->f32", construct_function<embedding_grad<BFloat16>>}};
}

std::vector<KernelCase> embedding_kernel_cases(const CaseSizes& sizes) {
  constexpr int64_t vocabulary = 640;
  const TensorType table{{vocabulary, CaseSizes::features}, sizes.dtype};
  return {{"embedding", {}, {sizes.tokens(), table}},
          {"embedding_grad",
           EmbeddingGradAttributes{vocabulary},
           {sizes.tokens(), sizes.sequences({CaseSizes::features})}}};
}

}  // namespace shardscope
