#include <fmt/format.h>

#include <algorithm>

#include "engine/base/error.h"
#include "engine/export/jax_op.h"
#include "engine/ops/conv.h"
#include "engine/ops/equation.h"
#include "engine/ops/split.h"
#include "engine/ops/stack.h"

namespace shardscope {

namespace {

bool joins(const std::string& labels) { return labels.find('(') != std::string::npos; }

std::string letters(std::string labels) {
  std::erase_if(labels, [](char c) { return c == '(' || c == ')'; });
  return labels;
}

// Sizes of the letters, in the order of the text.
std::vector<int64_t> sizes_of(const JaxCall& call, const std::string& labels) {
  std::vector<int64_t> sizes;
  for (char label : letters(labels)) {
    for (const Factor& factor : call.graph.rule(static_cast<OpId>(&call.op - call.graph.ops.data())).factors) {
      if (factor.label == label) sizes.push_back(factor.size);
    }
  }
  return sizes;
}

// An operand with a dimension for each letter.
std::string taken_apart(const JaxCall& call, size_t i, const std::string& labels, Binding least) {
  if (!joins(labels)) return call.operand(i, least);
  const bool parameter = call.graph.values[call.op.inputs[i]].kind == ValueKind::state;
  return fmt::format("{}.reshape{}", call.operand(i, Binding::whole), python_tuple(sizes_of(call, labels), !parameter));
}

// "bse,ef->bsf", "bse,fe->bsf": products of the last dimension by a matrix.
bool is_matmul(const Equation& equation) {
  const std::string &a = equation.operands[0], &b = equation.operands[1], &c = equation.result;
  if (joins(a + b + c) || b.size() != 2 || a.size() < 2 || a.size() != c.size()) return false;
  const std::string rows = a.substr(0, a.size() - 1);
  return (b[0] == a.back() && c == rows + b[1]) || (b[1] == a.back() && c == rows + b[0]);
}

JaxText einsum(const JaxCall& call) {
  const auto& [equation, sizes, wide] = call.attributes<EquationAttributes>();
  const std::string &a = equation.operands[0], &b = equation.operands[1], &c = equation.result;
  if (is_matmul(equation) && !wide) {
    return {fmt::format("{} @ {}{}", call.operand(0, Binding::product), call.operand(1, Binding::whole),
                        b[0] == a.back() ? "" : ".T"),
            Binding::product};
  }
  std::string text = fmt::format("jnp.einsum(\"{},{}->{}\", {}, {}{})", letters(a), letters(b), letters(c),
                                 taken_apart(call, 0, a, Binding::none), taken_apart(call, 1, b, Binding::none),
                                 wide ? ", preferred_element_type=jnp.float32" : "");
  if (joins(c)) text += ".reshape" + python_tuple(call.result().shape, true);
  return {text};
}

JaxText rearrange(const JaxCall& call) {
  const Equation& equation = call.attributes<EquationAttributes>().equation;
  const std::string from = letters(equation.operands[0]), to = letters(equation.result);
  const bool parameter = call.graph.values[call.op.inputs[0]].kind == ValueKind::state;
  std::string text =
      from == to ? call.operand(0, Binding::whole) : taken_apart(call, 0, equation.operands[0], Binding::whole);
  if (from != to) {
    std::vector<int64_t> order;
    for (char label : to) order.push_back(static_cast<int64_t>(from.find(label)));
    text += ".transpose" + python_tuple(order);
  }
  if (from == to || joins(equation.result)) text += ".reshape" + python_tuple(call.result().shape, !parameter);
  return {text};
}

JaxText embedding(const JaxCall& call) {
  return {fmt::format("{}[{}]", call.operand(1, Binding::whole), call.operand(0))};
}

JaxText split(const JaxCall& call) {
  const auto& [dimension, sizes] = call.attributes<SplitAttributes>();
  std::vector<int64_t> ends;
  for (size_t i = 0; i + 1 < sizes.size(); ++i) ends.push_back(sizes[i] + (ends.empty() ? 0 : ends.back()));
  return {fmt::format("jnp.split({}, {}, axis={})", call.operand(0), python_tuple(ends), dimension)};
}

std::string operands_of(const JaxCall& call) {
  std::string text;
  for (size_t i = 0; i < call.op.inputs.size(); ++i) text += (i == 0 ? "" : ", ") + call.operand(i);
  return text;
}

JaxText concatenate(const JaxCall& call) {
  return {
      fmt::format("jnp.concatenate([{}], axis={})", operands_of(call), call.attributes<SplitAttributes>().dimension)};
}

JaxText stack(const JaxCall& call) {
  return {fmt::format("jnp.stack([{}], axis={})", operands_of(call), call.attributes<StackAttributes>().dimension)};
}

JaxText unstack(const JaxCall& call) {
  return {fmt::format("jnp.unstack({}, axis={})", call.operand(0), call.attributes<StackAttributes>().dimension)};
}

JaxText conv(const JaxCall& call) {
  const auto& [height, width] = call.attributes<ConvAttributes>();
  const auto pads = [](const ConvDimension& d) {
    return fmt::format("({}, {})", d.before,
                       std::max<int64_t>(0, (d.output - 1) * d.stride + d.window - d.input - d.before));
  };
  return {fmt::format("conv({}, {}, ({}, {}), [{}, {}])", call.operand(0), call.operand(1), height.stride, width.stride,
                      pads(height), pads(width))};
}

}  // namespace

std::vector<JaxOp> product_jax_ops() {
  std::vector<JaxOp> ops{{"einsum", einsum},
                         {"rearrange", rearrange},
                         {"embedding", embedding},
                         {"concatenate", concatenate},
                         {"stack", stack},
                         {"conv", conv, R"(
def conv(pictures, kernel, strides, padding):
    dimensions = ("NHWC", "HWIO", "NHWC")
    return jax.lax.conv_general_dilated(pictures, kernel, strides, padding, dimension_numbers=dimensions)
)"}};
  for (JaxOp& op : ops) op.may_join = true;
  ops.push_back({"split", split});
  ops.push_back({"unstack", unstack});
  return ops;
}

}  // namespace shardscope
