#pragma once

#include <type_traits>

#include "engine/base/vector_versions.h"
#include "engine/runtime/kernels/kernel.h"
#include "engine/runtime/kernels/parallel.h"
#include "engine/runtime/kernels/storage.h"

namespace shardscope {

inline constexpr auto map_elements =
    vector_versions([]<class Function, class T, class... Operands>(Function function, int64_t begin, int64_t end, T* to,
                                                                   const Operands*... from) {
#pragma omp simd
      for (int64_t i = begin; i < end; ++i) store(function(load(from[i])...), to[i]);
    });

// to[i] = Function(from[i]), or of two operands Function(first[i], second[i]): in float, rounded once. A Function is a
// small value with an operator() const that is always inlined, made from the KernelArguments where it wants them.
template <class Function, class T>
class ElementwiseKernel : public Kernel {
 public:
  explicit ElementwiseKernel(const KernelArguments& arguments)
      : function_(make(arguments)),
        first_(arguments.inputs[0].template as<T>()),
        second_(binary ? arguments.inputs[1].template as<T>() : nullptr),
        to_(arguments.outputs[0].template as<T>()),
        count_(arguments.outputs[0].count()),
        threads_(arguments.threads) {}

  void run(const StepContext&) override {
    parallel_for(threads_, count_, 1024, [&](int64_t begin, int64_t end, int) {
      if constexpr (binary) {
        map_elements(function_, begin, end, to_, first_, second_);
      } else {
        map_elements(function_, begin, end, to_, first_);
      }
    });
  }

 private:
  static constexpr bool binary = std::is_invocable_v<Function, float, float>;

  static Function make(const KernelArguments& arguments) {
    if constexpr (std::is_constructible_v<Function, const KernelArguments&>) {
      return Function(arguments);
    } else {
      return Function();
    }
  }

  Function function_;
  const T* first_;
  const T* second_;
  T* to_;
  int64_t count_;
  int threads_;
};

}  // namespace shardscope
