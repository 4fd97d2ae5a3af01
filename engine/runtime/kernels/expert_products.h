#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

#include "engine/base/shape.h"
#include "engine/runtime/kernels/named_kernel.h"
#include "engine/runtime/kernels/parallel.h"

namespace shardscope {

// Rows of an array, of which several entries that follow each other may share one.
struct SharedRows {
  char* data;
  int64_t bytes;  // of a row
  int64_t share;  // entries of a row

  // Of an array whose last dimension is that of a row, and of so many entries.
  SharedRows(const TensorView& view, int64_t entries);
  char* row(int64_t entry) const { return data + entry / share * bytes; }
};

// Kernels of experts (e, out, in), or their gradient.
struct ExpertKernels {
  char* data;
  int64_t out, in;
  int64_t bytes;  // of one

  explicit ExpertKernels(const TensorView& view)
      : data(static_cast<char*>(view.data)),
        out(view.shape[1]),
        in(view.shape[2]),
        bytes(out * in * byte_size(view.dtype)) {}
  char* at(int64_t expert) const { return data + expert * bytes; }
};

// Products of the rows of one expert after another, on one thread: of whichever and however many entries. What oneDNN
// multiplies are numbers of rows that are multiples of 32, filled up with zeros, so that few products are prepared
// whatever the tokens choose.
class ExpertProducts {
 public:
  // Kernels (out, in), in the thread's part of the workspace of an op of `entries` (expert_workspace_bytes). `operands`
  // is the type of rows and kernels.
  ExpertProducts(const KernelArguments& arguments, int thread, int64_t entries, int64_t in, int64_t out, DType operands,
                 DType result);

  // Memory for the entries of an expert.
  int32_t* list() const { return list_; }
  // y = x K^T, or x K where `transposed`, of the first `count` entries of the list.
  void multiply(int64_t count, const SharedRows& x, const void* kernel, bool transposed, const SharedRows& y) const;
  // d K = d y^T x, summed over them.
  void sum(int64_t count, const SharedRows& x, const SharedRows& dy, void* dkernel) const;

 private:
  const char* gathered(const SharedRows& rows, int64_t first, int64_t count, int64_t padded, int64_t column,
                       int64_t bytes, char* to) const;
  bool follow_each_other(int64_t first, int64_t count) const {
    return list_[first + count - 1] - list_[first] == count - 1;
  }

  int64_t in_, out_;
  DType operands_, result_;
  int32_t* list_;
  char *left_, *right_;  // rows of `in` and of `out` elements
  float* sums_;
  char* scratch_;
  int64_t scratch_bytes_;
};

// Those of all threads of an op, of operand 0's type.
class ThreadProducts {
 public:
  ThreadProducts(const KernelArguments& arguments, int64_t entries, int64_t in, int64_t out) {
    for (int thread = 0; thread < arguments.threads; ++thread) {
      of_threads_.emplace_back(arguments, thread, entries, in, out, arguments.inputs[0].dtype,
                               arguments.outputs[0].dtype);
    }
  }

  // Calls visit(expert, count, products) for each expert of `lists`, where products' list has that many entries: what
  // lists.find(expert, list) writes.
  template <class Lists, class Visit>
  void for_each_expert(const Lists& lists, Visit visit) const {
    const int threads = static_cast<int>(of_threads_.size());
    parallel_for(threads, lists.experts(), 1, [&](int64_t begin, int64_t end, int thread) {
      const ExpertProducts& products = of_threads_[static_cast<size_t>(thread)];
      for (int64_t expert = begin; expert < end; ++expert) {
        visit(expert, lists.find(expert, products.list()), products);
      }
    });
  }

 private:
  std::vector<ExpertProducts> of_threads_;
};

// (x, the second operand, kernels) -> y, for rows that Lists assign to experts by the second operand; what they leave
// out of y is zero.
template <class Lists, class Own>
class ExpertProductKernel : public Kernel {
 public:
  explicit ExpertProductKernel(const KernelArguments& arguments)
      : transposed_(arguments.attributes->as<Own>().transposed),
        lists_(arguments, arguments.inputs[2]),
        x_(arguments.inputs[0], lists_.rows()),
        y_(arguments.outputs[0], lists_.rows()),
        kernels_(arguments.inputs[2]),
        products_(arguments, lists_.rows(), kernels_.in, kernels_.out) {}

  void run(const StepContext&) override {
    lists_.for_each_rest([&](int64_t first, int64_t count) {
      if (count > 0) std::memset(y_.row(first), 0, static_cast<size_t>(count * y_.bytes));
    });
    products_.for_each_expert(lists_, [&](int64_t expert, int64_t count, const ExpertProducts& products) {
      products.multiply(count, x_, kernels_.at(expert), transposed_, y_);
    });
  }

 private:
  bool transposed_;
  Lists lists_;
  SharedRows x_, y_;
  ExpertKernels kernels_;
  ThreadProducts products_;
};

// (x, the second operand, dy) -> d kernels.
template <class Lists>
class ExpertGradKernel : public Kernel {
 public:
  explicit ExpertGradKernel(const KernelArguments& arguments)
      : lists_(arguments, arguments.outputs[0]),
        x_(arguments.inputs[0], lists_.rows()),
        dy_(arguments.inputs[2], lists_.rows()),
        dkernels_(arguments.outputs[0]),
        products_(arguments, lists_.rows(), dkernels_.in, dkernels_.out) {}

  void run(const StepContext&) override {
    products_.for_each_expert(lists_, [&](int64_t expert, int64_t count, const ExpertProducts& products) {
      products.sum(count, x_, dy_, dkernels_.at(expert));
    });
  }

 private:
  Lists lists_;
  SharedRows x_, dy_;
  ExpertKernels dkernels_;
  ThreadProducts products_;
};

// Both, for all types that there are.
template <class Lists, class Own>
std::vector<NamedKernel> expert_kernels(std::string_view product, std::string_view gradient) {
  std::vector<NamedKernel> kernels;
  for (const char* types : {"f32,i32,f32->f32", "bf16,i32,bf16->bf16", "bf16,i32,bf16->f32"}) {
    kernels.push_back({product, types, construct<ExpertProductKernel<Lists, Own>>});
    kernels.push_back({gradient, types, construct<ExpertGradKernel<Lists>>});
  }
  return kernels;
}

}  // namespace shardscope
