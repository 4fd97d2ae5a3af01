#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/bfloat16.h"
#include "engine/base/shape.h"
#include "engine/graph/graph.h"

namespace shardscope {

// A device's part of an array: contiguous, row-major, at a fixed address. Element (i, j) of it is element
// (offset[0] + i, offset[1] + j) of the whole array.
struct TensorView {
  void* data = nullptr;
  DType dtype = DType::f32;
  Shape shape;  // local
  Shape global_shape;
  Shape offset;           // zeros where the dimension is whole
  std::string name = {};  // "operand 1 of einsum", for errors

  // The elements, of the type asked for; throws Failure (code dtype) naming the view where they are of another.
  float* f32() const { return static_cast<float*>(elements(DType::f32)); }
  BFloat16* bf16() const { return static_cast<BFloat16*>(elements(DType::bf16)); }
  int32_t* i32() const { return static_cast<int32_t*>(elements(DType::i32)); }
  template <class T>
  T* as() const;  // T: float, BFloat16, int32_t

  int64_t count() const { return element_count(shape); }

 private:
  void* elements(DType wanted) const;
};

template <>
inline float* TensorView::as<float>() const {
  return f32();
}
template <>
inline BFloat16* TensorView::as<BFloat16>() const {
  return bf16();
}
template <>
inline int32_t* TensorView::as<int32_t>() const {
  return i32();
}

// Everything a kernel knows when it is made; addresses do not change afterwards.
struct KernelArguments {
  const Attributes* attributes = nullptr;  // which outlive the kernel
  std::vector<TensorView> inputs;
  std::vector<TensorView> outputs;  // may be the memory of an input, where the op allows in-place
  void* workspace = nullptr;        // 64-byte aligned
  int64_t workspace_bytes = 0;
  int threads = 1;
};

struct StepContext {
  int64_t step = 0;      // training step, from 0
  bool training = true;  // false where a model is evaluated: dropout keeps everything
  int microbatch = 0;    // of the step's, from 0; set by the executor
  bool first = true;     // that runs of the step's, in whatever order; set by the executor
};

// The local computation of one op. Made once, run every step; run() allocates nothing of note.
class Kernel {
 public:
  virtual ~Kernel() = default;
  virtual void run(const StepContext& context) = 0;
};

using KernelFactory = std::unique_ptr<Kernel> (*)(const KernelArguments&);

// "f32,f32->f32": the types of operands and results, as kernels are found by them.
std::string type_signature(std::span<const DType> operands, std::span<const DType> results);

// The factory of the kernel of an op for these types. Throws Failure: code no_kernel where the op has no kernel at all,
// code no_kernel_of_types, naming the types that there are, where it has none for these.
KernelFactory kernel_factory(std::string_view op, std::string_view types);

// The kernel of an op for the types of these arguments. Throws like kernel_factory, and what making the kernel throws.
std::unique_ptr<Kernel> make_kernel(std::string_view op, KernelArguments arguments);

}  // namespace shardscope
