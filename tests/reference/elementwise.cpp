#include <cmath>
#include <numbers>

#include "engine/ops/constant.h"
#include "engine/ops/scale.h"
#include "tests/reference/named_reference.h"

namespace shardscope::reference {

namespace {

const double root = std::sqrt(2 / std::numbers::pi);

Values gelu_argument(const Values& x) { return root * (x + 0.044715 * x.cube()); }

Results gelu(const Call& call) {
  const Values& x = call.values(0);
  return {x / 2 * (1 + gelu_argument(x).tanh())};
}

Results gelu_grad(const Call& call) {
  const Values &x = call.values(0), &dy = call.values(1);
  const Values tanh = gelu_argument(x).tanh(), slope = root * (1 + 3 * 0.044715 * x.square());
  return {dy * ((1 + tanh) / 2 + x / 2 * (1 - tanh.square()) * slope)};
}

Results scale(const Call& call) { return {call.attributes.as<ScaleAttributes>().scale * call.values(0)}; }

Results cast(const Call& call) { return {call.values(0)}; }

Results constant(const Call& call) {
  const ConstantAttributes& attributes = call.attributes.as<ConstantAttributes>();
  return {Values::Constant(element_count(attributes.type.shape), attributes.value)};
}

}  // namespace

std::vector<NamedReference> elementwise_references() {
  return {{"gelu", gelu},        {"gelu_grad", gelu_grad}, {"scale", scale},
          {"accumulate", scale}, {"cast", cast},           {"constant", constant}};
}

}  // namespace shardscope::reference
