#pragma once

#include <cstdint>
#include <vector>

#include "engine/base/shape.h"
#include "engine/runtime/kernels/kernel.h"
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

}  // namespace shardscope
