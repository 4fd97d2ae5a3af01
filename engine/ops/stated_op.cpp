#include "engine/ops/stated_op.h"

#include <algorithm>

#include "engine/ops/equation.h"

namespace shardscope {

namespace {

std::string with_letters(const std::string& text, const std::string& rows, const std::string& all) {
  std::string result;
  for (const char c : text) result += c == 'R' ? rows : c == 'A' ? all : std::string(1, c);
  return result;
}

char type_at(std::string_view types, int index) {
  return types[std::min(static_cast<size_t>(index), types.size() - 1)];
}

}  // namespace

Labels StatedOp::labels(const Attributes& attributes, std::span<const TensorType> operands) const {
  if (of_.require) of_.require(attributes);
  if (of_.labels) return of_.labels(attributes, operands);
  const std::string all = elementwise_labels(operands.empty() ? 0 : operands[0].shape.size());
  const Equation equation(with_letters(std::string(of_.equation), row_labels(operands), all));
  Labels labels{equation.operands, Equation(equation.result + "->").operands, std::string(of_.whole)};
  labels.reductions = of_.reductions;
  return labels;
}

int StatedOp::in_place_operand(int result) const {
  return result < std::ssize(of_.in_place) ? of_.in_place[static_cast<size_t>(result)] : -1;
}

void StatedOp::gradient(GradientContext& context) const {
  if (of_.gradient) of_.gradient(context);
}

int64_t StatedOp::workspace_bytes(const Attributes&, std::span<const TensorType> operands,
                                  std::span<const TensorType> results, int) const {
  return of_.workspace ? of_.workspace(operands, results) : 0;
}

bool StatedOp::takes(int operand, DType dtype) const {
  const char type = type_at(of_.types.substr(0, of_.types.find('-')), operand);
  return type == 'x' ? is_float(dtype) : dtype == (type == 'i' ? DType::i32 : DType::f32);
}

DType StatedOp::result_dtype(int result, const Attributes&, std::span<const TensorType> operands) const {
  const char type = type_at(of_.types.substr(of_.types.find('>') + 1), result);
  return type == 'f' ? DType::f32 : type == 'i' ? DType::i32 : operands[static_cast<size_t>(type - '0')].dtype;
}

}  // namespace shardscope
