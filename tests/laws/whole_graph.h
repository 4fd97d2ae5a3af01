#pragma once

#include <bit>
#include <cstring>
#include <map>
#include <random>
#include <vector>

#include "engine/graph/graph.h"
#include "engine/graph/op_definition.h"
#include "engine/runtime/kernels/kernel.h"

namespace shardscope {

// 64-byte aligned memory for one array.
class TestArray {
 public:
  explicit TestArray(int64_t bytes = 0) : storage_(static_cast<size_t>(bytes / 64 + 1)) {}
  void* data() { return storage_.data(); }
  float* f32() { return reinterpret_cast<float*>(storage_.data()); }
  int32_t* i32() { return reinterpret_cast<int32_t*>(storage_.data()); }

  double get(DType dtype, int64_t index) const {
    const auto* bytes = reinterpret_cast<const std::byte*>(storage_.data()) + index * byte_size(dtype);
    uint32_t bits = 0;
    std::memcpy(&bits, bytes, static_cast<size_t>(byte_size(dtype)));
    if (dtype == DType::i32) return static_cast<int32_t>(bits);
    return std::bit_cast<float>(dtype == DType::bf16 ? bits << 16 : bits);
  }
  // Of bf16, the leading bits.
  void set(DType dtype, int64_t index, double value) {
    const uint32_t bits = dtype == DType::i32 ? static_cast<uint32_t>(static_cast<int32_t>(value))
                                              : std::bit_cast<uint32_t>(static_cast<float>(value));
    const uint32_t stored = dtype == DType::bf16 ? bits >> 16 : bits;
    const auto size = static_cast<size_t>(byte_size(dtype));
    std::memcpy(reinterpret_cast<std::byte*>(storage_.data()) + static_cast<size_t>(index) * size, &stored, size);
  }

 private:
  struct alignas(64) Line {
    std::byte bytes[64];
  };
  std::vector<Line> storage_;
};

// Runs one op's kernel on these views, outputs in place where the op demands it.
inline void run_kernel(const OpDefinition& definition, const Attributes& attributes, std::vector<TensorView> inputs,
                       std::vector<TensorView> outputs, int64_t step = 0) {
  std::vector<TensorType> operand_types, result_types;
  for (const TensorView& view : inputs) operand_types.push_back({view.shape, view.dtype});
  for (const TensorView& view : outputs) result_types.push_back({view.shape, view.dtype});
  int64_t bytes = definition.workspace_bytes(attributes, operand_types, result_types, 1);
  TestArray workspace(bytes);
  if (definition.must_be_in_place()) {
    for (size_t i = 0; i < outputs.size(); ++i) {
      TensorView& operand = inputs[static_cast<size_t>(definition.in_place_operand(static_cast<int>(i)))];
      std::memcpy(outputs[i].data, operand.data, static_cast<size_t>(operand.count() * byte_size(operand.dtype)));
      operand.data = outputs[i].data;
    }
  }
  KernelArguments arguments{&attributes, inputs, outputs, workspace.data(), bytes, 1};
  make_kernel(definition.name(), arguments)->run({step});
}

inline TensorView whole_view(TestArray& array, const TensorType& type) {
  return {array.data(), type.dtype, type.shape, type.shape, Shape(type.shape.size())};
}

// The step of an unpartitioned graph, run op by op on whole arrays: the definition of what every plan must compute.
// States and inputs are the caller's to fill.
class WholeGraph {
 public:
  explicit WholeGraph(const Graph& graph) : graph_(graph) {
    for (const Value& value : graph.values) arrays_.emplace_back(value.type.bytes());
  }
  TestArray& array(ValueId value) { return arrays_[static_cast<size_t>(value)]; }
  void run() {
    for (const Op& op : graph_.ops) {
      if (op.phase == Phase::initialise) continue;
      std::vector<TensorView> inputs, outputs;
      for (ValueId id : op.inputs) inputs.push_back(whole_view(array(id), graph_.type(id)));
      for (ValueId id : op.outputs) outputs.push_back(whole_view(array(id), graph_.type(id)));
      run_kernel(*op.definition, op.attributes, inputs, outputs);
    }
  }

 private:
  const Graph& graph_;
  std::vector<TestArray> arrays_;
};

inline void fill_random(float* out, int64_t count, std::mt19937& random, float low = -1, float high = 1) {
  std::uniform_real_distribution<float> uniform(low, high);
  for (int64_t i = 0; i < count; ++i) out[i] = uniform(random);
}

}  // namespace shardscope
