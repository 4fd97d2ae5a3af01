#include "engine/ops/layer_norm.h"
#include "tests/reference/named_reference.h"

namespace shardscope::reference {

namespace {

Values root_inverse(const Call& call, const Values& squares) {
  const LayerNormAttributes& attributes = call.attributes.as<LayerNormAttributes>();
  return (squares / static_cast<double>(attributes.features) + attributes.epsilon).rsqrt();
}

Results squares(const Call& call) { return {table(call.operands[0]).square().rowwise().sum()}; }

Results rms_norm(const Call& call) {
  const Table scaled = table(call.operands[0]).colwise() * root_inverse(call, call.values(2));
  return {flat(scaled.rowwise() * call.values(1).transpose())};
}

Results grad_product(const Call& call) {
  const Table scaled = table(call.operands[0]).rowwise() * call.values(2).transpose();
  return {(scaled * table(call.operands[1])).rowwise().sum()};
}

Results rms_norm_grad_input(const Call& call) {
  const double features = static_cast<double>(call.attributes.as<LayerNormAttributes>().features);
  const Values inverse = root_inverse(call, call.values(3)), pull = inverse.cube() * call.values(4) / features;
  const Table scaled = table(call.operands[0]).rowwise() * call.values(2).transpose();
  const Table pulled = table(call.operands[1]).colwise() * pull;
  return {flat(scaled.colwise() * inverse - pulled)};
}

Results grad_scale(const Call& call) {
  const Table x_hat = table(call.operands[1]).colwise() * root_inverse(call, call.values(2));
  return {(table(call.operands[0]) * x_hat).colwise().sum().transpose()};
}

}  // namespace

std::vector<NamedReference> rms_norm_references() {
  return {{"rms_norm_squares", squares},
          {"rms_norm", rms_norm},
          {"rms_norm_grad_product", grad_product},
          {"rms_norm_grad_input", rms_norm_grad_input},
          {"rms_norm_grad_scale", grad_scale}};
}

}  // namespace shardscope::reference
