#include "engine/ops/layer_norm.h"

#include "tests/reference/named_reference.h"

namespace shardscope::reference {

namespace {

// What x is normalised with, a number for each row, from the sums of x and of x^2.
struct Norm {
  Values mean, inverse;

  Norm(const LayerNormAttributes& attributes, const Values& sum, const Values& squares) {
    const double features = static_cast<double>(attributes.features);
    mean = sum / features;
    const Values variance = (squares / features - mean.square()).max(0);
    inverse = (variance + attributes.epsilon).rsqrt();
  }
  Table of(const Table& x) const { return (x.colwise() - mean).colwise() * inverse; }
};

Results moments(const Call& call) {
  const auto x = table(call.operands[0]);
  return {x.rowwise().sum(), x.square().rowwise().sum()};
}

Results layer_norm(const Call& call) {
  const Norm norm(call.attributes.as<LayerNormAttributes>(), call.values(1), call.values(2));
  const Table x_hat = norm.of(table(call.operands[0]));
  const auto scale = call.values(3).transpose(), bias = call.values(4).transpose();
  return {flat((x_hat.rowwise() * scale).rowwise() + bias)};
}

Results grad_moments(const Call& call) {
  const Norm norm(call.attributes.as<LayerNormAttributes>(), call.values(2), call.values(3));
  const Table scaled = table(call.operands[0]).rowwise() * call.values(4).transpose();
  return {scaled.rowwise().sum(), (scaled * norm.of(table(call.operands[1]))).rowwise().sum()};
}

Results layer_norm_grad_input(const Call& call) {
  const LayerNormAttributes& attributes = call.attributes.as<LayerNormAttributes>();
  const Norm norm(attributes, call.values(2), call.values(3));
  const double features = static_cast<double>(attributes.features);
  const Values plain = call.values(5) / features, weighted = call.values(6) / features;
  const Table scaled = table(call.operands[0]).rowwise() * call.values(4).transpose();
  const Table x_hat = norm.of(table(call.operands[1]));
  const Table inner = (scaled.colwise() - plain) - x_hat.colwise() * weighted;
  return {flat(inner.colwise() * norm.inverse)};
}

Results grad_parameters(const Call& call) {
  const Norm norm(call.attributes.as<LayerNormAttributes>(), call.values(2), call.values(3));
  const auto dy = table(call.operands[0]);
  const Table product = dy * norm.of(table(call.operands[1]));
  return {product.colwise().sum().transpose(), dy.colwise().sum().transpose()};
}

}  // namespace

std::vector<NamedReference> layer_norm_references() {
  return {{"layer_norm_moments", moments},
          {"layer_norm", layer_norm},
          {"layer_norm_grad_moments", grad_moments},
          {"layer_norm_grad_input", layer_norm_grad_input},
          {"layer_norm_grad_parameters", grad_parameters}};
}

}  // namespace shardscope::reference
