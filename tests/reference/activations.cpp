#include <cmath>

#include "engine/ops/clip.h"
#include "engine/ops/soft_cap.h"
#include "tests/reference/named_reference.h"

namespace shardscope::reference {

namespace {

Values sigmoid(const Values& x) { return 1 / (1 + (-x).exp()); }

Results silu(const Call& call) { return {call.values(0) * sigmoid(call.values(0))}; }

Results silu_grad(const Call& call) {
  const Values &x = call.values(0), gate = sigmoid(x);
  return {call.values(1) * (gate + x * gate * (1 - gate))};
}

// The normal distribution's probability below x.
Values below(const Values& x) {
  return x.unaryExpr([](double value) { return 0.5 * std::erfc(-value / std::sqrt(2.0)); });
}

Results gelu_exact(const Call& call) { return {call.values(0) * below(call.values(0))}; }

Results gelu_exact_grad(const Call& call) {
  const Values& x = call.values(0);
  const Values density = (-x.square() / 2).exp() / std::sqrt(2 * 3.14159265358979323846);
  return {call.values(1) * (below(x) + x * density)};
}

Results multiply(const Call& call) { return {call.values(0) * call.values(1)}; }

Results soft_cap(const Call& call) {
  const double cap = call.attributes.as<SoftCapAttributes>().cap;
  return {cap * (call.values(0) / cap).tanh()};
}

Results soft_cap_grad(const Call& call) {
  const double cap = call.attributes.as<SoftCapAttributes>().cap;
  return {call.values(1) * (1 - (call.values(0) / cap).square())};
}

Results clip(const Call& call) {
  const auto& bounds = call.attributes.as<ClipBoundsAttributes>();
  return {call.values(0).max(bounds.minimum).min(bounds.maximum)};
}

Results clip_grad(const Call& call) {
  const auto& bounds = call.attributes.as<ClipBoundsAttributes>();
  const Values& x = call.values(0);
  return {(x >= bounds.minimum && x <= bounds.maximum).select(call.values(1), 0)};
}

}  // namespace

std::vector<NamedReference> activation_references() {
  return {{"silu", silu},
          {"silu_grad", silu_grad},
          {"gelu_exact", gelu_exact},
          {"gelu_exact_grad", gelu_exact_grad},
          {"multiply", multiply},
          {"soft_cap", soft_cap},
          {"soft_cap_grad", soft_cap_grad},
          {"clip", clip},
          {"clip_grad", clip_grad}};
}

}  // namespace shardscope::reference
