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
class EmbeddingKernel : public Kernel {
 public:
  explicit EmbeddingKernel(const KernelArguments& arguments)
      : tokens_(arguments.inputs[0].i32()),
        table_(arguments.inputs[1].template as<T>()),
        rows_(arguments.outputs[0].template as<T>()),
        count_(arguments.inputs[0].count()),
        first_(arguments.inputs[1].offset[0]),
        held_(arguments.inputs[1].shape[0]),
        features_(arguments.inputs[1].shape[1]),
        threads_(arguments.threads) {}

  void run(const StepContext&) override {
    const size_t bytes = static_cast<size_t>(features_) * sizeof(T);
    parallel_for(threads_, count_, 16, [&](int64_t begin, int64_t end, int) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t row = tokens_[i] - first_;
        T* destination = rows_ + i * features_;
        if (row >= 0 && row < held_) {
          std::memcpy(destination, table_ + row * features_, bytes);
        } else {
          std::memset(destination, 0, bytes);
        }
      }
    });
  }

 private:
  const int32_t* tokens_;
  const T* table_;
  T* rows_;
  int64_t count_, first_, held_, features_;
  int threads_;
};

// Adds each token's cotangent to its row. Threads share out the columns, so that the order of a sum is that of the
// tokens for any number of threads. Sums are f32, whatever the cotangent is.
template <class T>
class EmbeddingGradKernel : public Kernel {
 public:
  explicit EmbeddingGradKernel(const KernelArguments& arguments)
      : tokens_(arguments.inputs[0].i32()),
        cotangent_(arguments.inputs[1].template as<T>()),
        table_(arguments.outputs[0].f32()),
        count_(arguments.inputs[0].count()),
        first_(arguments.outputs[0].offset[0]),
        held_(arguments.outputs[0].shape[0]),
        features_(arguments.outputs[0].shape[1]),
        threads_(arguments.threads) {}

  void run(const StepContext&) override {
    parallel_for(threads_, features_, 16, [&](int64_t begin, int64_t end, int) {
      for (int64_t row = 0; row < held_; ++row) {
        std::fill(table_ + row * features_ + begin, table_ + row * features_ + end, 0.0f);
      }
      for (int64_t i = 0; i < count_; ++i) {
        const int64_t row = tokens_[i] - first_;
        if (row < 0 || row >= held_) continue;
        accumulate(cotangent_ + i * features_ + begin, end - begin, table_ + row * features_ + begin);
      }
    });
  }

 private:
  const int32_t* tokens_;
  const T* cotangent_;
  float* table_;
  int64_t count_, first_, held_, features_;
  int threads_;
};

}  // namespace

std::vector<NamedKernel> embedding_kernels() {
  return {{"embedding", "i32,f32->f32", construct<EmbeddingKernel<float>>},
          {"embedding", "i32,bf16->bf16", construct<EmbeddingKernel<BFloat16>>},
          {"embedding_grad", "i32,f32->f32", construct<EmbeddingGradKernel<float>>},
          {"embedding_grad", "i32,bf16->f32", construct<EmbeddingGradKernel<BFloat16>>}};
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
