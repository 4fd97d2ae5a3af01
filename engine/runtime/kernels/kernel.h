#pragma once

#include <memory>
#include <string_view>
#include <vector>

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
  std::vector<int64_t> offset;  // zeros where the dimension is whole

  float* f32() const { return static_cast<float*>(data); }
  int32_t* i32() const { return static_cast<int32_t*>(data); }
  int64_t count() const { return element_count(shape); }
};

// Everything a kernel knows when it is made; addresses do not change afterwards.
struct KernelArguments {
  const Attributes* attributes = nullptr;
  std::vector<TensorView> inputs;
  std::vector<TensorView> outputs;  // may be the memory of an input, where the op allows in-place
  void* workspace = nullptr;        // 64-byte aligned
  int64_t workspace_bytes = 0;
  int threads = 1;
};

struct StepContext {
  int64_t step = 0;      // training step, from 0
  bool training = true;  // false where a model is evaluated: dropout keeps everything
};

// The local computation of one op. Made once, run every step; run() allocates nothing of note.
class Kernel {
 public:
  virtual ~Kernel() = default;
  virtual void run(const StepContext& context) = 0;
};

using KernelFactory = std::unique_ptr<Kernel> (*)(const KernelArguments&);

// The factory of an op's kernel; throws Failure naming the op when there is none. One line in registry.cpp adds one.
KernelFactory kernel_factory(std::string_view op);

}  // namespace shardscope
