#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "engine/ops/registry.h"
#include "engine/runtime/kernels/kernel.h"

namespace shardscope::testing {

// One run of one kernel on small arrays: operands are copied in, results copied out. The workspace has exactly the
// bytes that the op declares, between guards; results start as garbage.
class KernelCase {
 public:
  explicit KernelCase(std::string op, Attributes attributes = {})
      : op_(std::move(op)), attributes_(std::move(attributes)) {}

  KernelCase& input(Shape shape, const std::vector<float>& values) {
    add(inputs_, shape, DType::f32, values.data());
    return *this;
  }
  // Values that are rounded to bf16.
  KernelCase& bf16_input(Shape shape, const std::vector<float>& values) {
    std::vector<BFloat16> rounded(values.size());
    std::transform(values.begin(), values.end(), rounded.begin(), [](float x) { return to_bfloat16(x); });
    add(inputs_, shape, DType::bf16, rounded.data());
    return *this;
  }
  KernelCase& input(Shape shape, const std::vector<int32_t>& values) {
    add(inputs_, shape, DType::i32, values.data());
    return *this;
  }
  KernelCase& output(Shape shape, DType dtype = DType::f32) {
    add(outputs_, shape, dtype, nullptr);
    alias_.push_back(-1);
    return *this;
  }
  // A result in the memory of operand `operand`.
  KernelCase& output_over(int operand) {
    add(outputs_, inputs_[operand].view.shape, inputs_[operand].view.dtype, nullptr);
    alias_.push_back(operand);
    return *this;
  }
  // The operand or result added last is the part of a larger array that starts at `offset`.
  KernelCase& input_part(Shape global_shape, Shape offset) {
    inputs_.back().view.global_shape = std::move(global_shape);
    inputs_.back().view.offset = std::move(offset);
    return *this;
  }
  KernelCase& output_part(Shape global_shape, Shape offset) {
    outputs_.back().view.global_shape = std::move(global_shape);
    outputs_.back().view.offset = std::move(offset);
    return *this;
  }

  void run(int threads = 1, int64_t step = 0, int runs = 1) {
    KernelArguments arguments;
    arguments.attributes = &attributes_;
    arguments.threads = threads;
    std::vector<TensorType> operand_types, result_types;
    for (Array& array : inputs_) {
      array.working = array.initial;
      array.view.data = array.working.data();
      arguments.inputs.push_back(array.view);
      operand_types.push_back({array.view.shape, array.view.dtype});
    }
    for (size_t i = 0; i < outputs_.size(); ++i) {
      Array& array = outputs_[i];
      array.working = array.initial;
      array.view.data = alias_[i] < 0 ? array.working.data() : inputs_[alias_[i]].working.data();
      arguments.outputs.push_back(array.view);
      result_types.push_back({array.view.shape, array.view.dtype});
    }
    const int64_t bytes =
        has_definition(op_) ? op_definition(op_).workspace_bytes(attributes_, operand_types, result_types, threads) : 0;
    constexpr size_t guard = 256;
    std::vector<uint8_t> memory(static_cast<size_t>(bytes) + 2 * guard + 64, 0xAB);
    void* start = memory.data() + guard;
    size_t space = memory.size() - guard;
    arguments.workspace = std::align(64, static_cast<size_t>(bytes) + guard, start, space);
    arguments.workspace_bytes = bytes;
    auto kernel = make_kernel(op_, arguments);
    for (int i = 0; i < runs; ++i) kernel->run(StepContext{step});
    const uint8_t* begin = static_cast<const uint8_t*>(arguments.workspace);
    const uint8_t* whole = memory.data();
    guards_intact = std::all_of(whole, begin, [](uint8_t byte) { return byte == 0xAB; }) &&
                    std::all_of(begin + bytes, begin + bytes + guard, [](uint8_t byte) { return byte == 0xAB; });
  }

  // A result of f32 or bf16, as floats.
  std::vector<float> result(int index = 0) const {
    const TensorView& view = outputs_[index].view;
    std::vector<float> values(static_cast<size_t>(view.count()));
    for (size_t i = 0; i < values.size(); ++i) {
      values[i] = view.dtype == DType::bf16 ? to_float(view.bf16()[i]) : view.f32()[i];
    }
    return values;
  }
  std::vector<int32_t> integers(int index = 0) const {
    const TensorView& view = outputs_[index].view;
    return {view.i32(), view.i32() + view.count()};
  }

  bool guards_intact = false;  // of the last run

 private:
  struct Array {
    TensorView view;
    std::vector<float> initial, working;  // 4-byte words of any type
  };

  static bool has_definition(const std::string& op) {
    return std::ranges::any_of(all_op_definitions(), [&](const OpDefinition* known) { return known->name() == op; });
  }

  void add(std::vector<Array>& arrays, const Shape& shape, DType dtype, const void* values) {
    Array array;
    array.view.shape = array.view.global_shape = shape;
    array.view.offset = Shape(shape.size());
    array.view.dtype = dtype;
    array.initial.assign(static_cast<size_t>(element_count(shape)), -1e30f);
    if (values && !array.initial.empty())
      std::memcpy(array.initial.data(), values, array.view.count() * byte_size(dtype));
    arrays.push_back(std::move(array));
  }

  std::string op_;
  Attributes attributes_;
  std::vector<Array> inputs_, outputs_;
  std::vector<int> alias_;
};

// Random numbers with a fixed seed.
class Random {
 public:
  explicit Random(uint32_t seed) : engine_(seed) {}
  int64_t integer(int64_t low, int64_t high) { return std::uniform_int_distribution<int64_t>(low, high)(engine_); }
  std::vector<float> normals(int64_t count, float deviation = 1) {
    std::normal_distribution<float> distribution(0, deviation);
    std::vector<float> values(static_cast<size_t>(count));
    for (float& value : values) value = distribution(engine_);
    return values;
  }
  std::vector<int32_t> integers(int64_t count, int32_t low, int32_t high) {
    std::vector<int32_t> values(static_cast<size_t>(count));
    for (int32_t& value : values) value = static_cast<int32_t>(integer(low, high));
    return values;
  }

 private:
  std::mt19937 engine_;
};

// Largest difference relative to the largest magnitude of what is expected (at least `floor`).
inline double difference(const std::vector<float>& found, const std::vector<double>& expected, double floor = 1e-6) {
  if (found.size() != expected.size()) return 1e30;
  double largest = floor, worst = 0;
  for (double value : expected) largest = std::max(largest, std::abs(value));
  for (size_t i = 0; i < found.size(); ++i) {
    const double error = std::abs(found[i] - expected[i]);
    worst = error <= worst ? worst : error;  // NaN sticks
  }
  return worst / largest;
}

inline std::vector<double> doubles(const std::vector<float>& values) { return {values.begin(), values.end()}; }

}  // namespace shardscope::testing
