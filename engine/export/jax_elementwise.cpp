#include <fmt/format.h>

#include <cmath>

#include "engine/export/jax_op.h"
#include "engine/ops/cast.h"
#include "engine/ops/clip.h"
#include "engine/ops/constant.h"
#include "engine/ops/dropout.h"
#include "engine/ops/equation.h"
#include "engine/ops/scale.h"
#include "engine/ops/soft_cap.h"

namespace shardscope {

namespace {

template <const char* const& function>
JaxText of_one(const JaxCall& call) {
  return {fmt::format(fmt::runtime(function), call.operand(0))};
}

constexpr const char* gelu = "jax.nn.gelu({})";
constexpr const char* gelu_exact = "jax.nn.gelu({}, approximate=False)";
constexpr const char* relu = "jax.nn.relu({})";
constexpr const char* silu = "jax.nn.silu({})";

// The second operand may lack dimensions of the first.
JaxText add(const JaxCall& call) {
  const Equation& equation = call.attributes<EquationAttributes>().equation;
  const std::string &all = equation.operands[0], &some = equation.operands[1];
  if (all.ends_with(some)) {
    return {fmt::format("{} + {}", call.operand(0, Binding::sum), call.operand(1, Binding::product)), Binding::sum};
  }
  std::string index;
  for (char label : all) {
    index += (index.empty() ? "" : ", ") + std::string(some.find(label) == std::string::npos ? "None" : ":");
  }
  return {fmt::format("{} + {}[{}]", call.operand(0, Binding::sum), call.operand(1, Binding::whole), index),
          Binding::sum};
}

JaxText multiply(const JaxCall& call) {
  if (call.op.inputs[0] == call.op.inputs[1]) return {fmt::format("jnp.square({})", call.operand(0))};
  return {fmt::format("{} * {}", call.operand(0, Binding::product), call.operand(1, Binding::whole)), Binding::product};
}

JaxText scale(const JaxCall& call) {
  return {fmt::format("{} * {}", call.operand(0, Binding::product), call.attributes<ScaleAttributes>().scale),
          Binding::product};
}

JaxText cast(const JaxCall& call) {
  return {fmt::format("{}.astype({})", call.operand(0, Binding::whole),
                      python_dtype(call.attributes<CastAttributes>().to))};
}

JaxText clip(const JaxCall& call) {
  const auto& [minimum, maximum] = call.attributes<ClipBoundsAttributes>();
  const auto bound = [](double value) { return std::isinf(value) ? std::string("None") : fmt::format("{}", value); };
  return {fmt::format("jnp.clip({}, {}, {})", call.operand(0), bound(minimum), bound(maximum))};
}

JaxText soft_cap(const JaxCall& call) {
  const double cap = call.attributes<SoftCapAttributes>().cap;
  return {fmt::format("{} * jnp.tanh({} / {})", cap, call.operand(0, Binding::product), cap), Binding::product};
}

JaxText constant(const JaxCall& call) {
  const auto& [value, type] = call.attributes<ConstantAttributes>();
  const std::string shape = python_tuple(type.shape);
  const std::string dtype = type.dtype == DType::f32 ? "" : ", " + python_dtype(type.dtype);
  if (value == 0 || value == 1) return {fmt::format("jnp.{}({}{})", value == 0 ? "zeros" : "ones", shape, dtype)};
  return {fmt::format("jnp.full({}, {}{})", shape, value, dtype)};
}

JaxText dropout(const JaxCall& call) {
  const auto& [rate, key] = call.attributes<DropoutAttributes>();
  return {fmt::format("dropout({}, {}, {})", call.operand(0), rate, call.key(key))};
}

}  // namespace

std::vector<JaxOp> elementwise_jax_ops() {
  std::vector<JaxOp> ops{{"add", add},           {"multiply", multiply}, {"scale", scale},
                         {"cast", cast},         {"clip", clip},         {"soft_cap", soft_cap},
                         {"constant", constant}, {"gelu", of_one<gelu>}, {"gelu_exact", of_one<gelu_exact>},
                         {"relu", of_one<relu>}, {"silu", of_one<silu>}};
  for (JaxOp& op : ops) op.may_join = true;
  ops.push_back({"dropout", dropout, R"(
def dropout(x, rate, key):
    return jnp.where(kept(key, 1 - rate, x.shape), x / (1 - rate), 0)
)"});
  return ops;
}

}  // namespace shardscope
