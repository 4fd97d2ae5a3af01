#pragma once

#include <string>
#include <utility>
#include <vector>

#include "engine/graph/graph.h"
#include "engine/ops/equation.h"
#include "engine/ops/registry.h"

namespace shardscope::test {

// An op with operands that fit it. `differentiable` are the operands that its gradient gives a cotangent.
struct OpCase {
  std::string op;
  std::vector<TensorType> operands;
  Attributes attributes = {};
  std::vector<int> differentiable = {};

  const OpDefinition& definition() const { return op_definition(op); }
  std::vector<TensorType> results() const { return definition().infer(attributes, operands).results; }
  FactorRule rule() const { return definition().infer(attributes, operands).rule; }
};

inline TensorType array(Shape shape) { return {std::move(shape), DType::f32}; }
inline TensorType half(Shape shape) { return {std::move(shape), DType::bf16}; }
inline TensorType tokens(Shape shape) { return {std::move(shape), DType::i32}; }
inline Attributes equation(const std::string& text, std::vector<std::pair<char, int64_t>> sizes = {}) {
  return EquationAttributes{text, std::move(sizes)};
}

}  // namespace shardscope::test
