#include <cmath>
#include <limits>

#include "engine/ops/scale.h"
#include "tests/reference/named_reference.h"

namespace shardscope::reference {

namespace {

Results row_max(const Call& call) { return {table(call.operands[0]).rowwise().maxCoeff()}; }

// A label outside the vocabulary has no logit.
Results terms(const Call& call) {
  const auto logits = table(call.operands[0]);
  const Values &labels = call.values(1), &top = call.values(2);
  Values exp_sum(logits.rows()), label_logit(logits.rows()), first(logits.rows());
  for (int64_t row = 0; row < logits.rows(); ++row) {
    exp_sum[row] = (logits.row(row) - top[row]).exp().sum();
    const bool known = labels[row] >= 0 && labels[row] < static_cast<double>(logits.cols());
    label_logit[row] =
        known ? logits(row, static_cast<int64_t>(labels[row])) : std::numeric_limits<double>::quiet_NaN();
    first[row] = std::numeric_limits<int32_t>::min();
    for (int64_t v = logits.cols(); v-- > 0;) {
      if (logits(row, v) == top[row]) first[row] = -static_cast<double>(v);
    }
  }
  return {exp_sum, label_logit, first};
}

Results terms_grad(const Call& call) {
  const auto logits = table(call.operands[0]);
  const Values &labels = call.values(1), &d_exp_sum = call.values(2), &d_label_logit = call.values(3);
  Table grad = (logits.colwise() - call.values(4)).exp().colwise() * d_exp_sum;
  for (int64_t row = 0; row < logits.rows(); ++row) {
    const auto label = static_cast<int64_t>(labels[row]);
    if (label >= 0 && label < logits.cols()) grad(row, label) += d_label_logit[row];
  }
  return {flat(grad)};
}

Values weights(const Call& call, size_t operand) {
  return call.operands.size() > operand ? call.values(operand) : Values::Ones(call.values(0).size());
}

Results cross_entropy(const Call& call) {
  const double scale = call.attributes.as<ScaleAttributes>().scale;
  const Values &top = call.values(0), &exp_sum = call.values(1), &label_logit = call.values(2);
  const Values &first = call.values(3), &labels = call.values(4), weight = weights(call, 5);
  const Values hits = (first == -labels).cast<double>();
  return {Values::Constant(1, scale * (weight * (top + exp_sum.log() - label_logit)).sum()),
          Values::Constant(1, scale * (weight * hits).sum())};
}

Results cross_entropy_grad(const Call& call) {
  const double scale = call.attributes.as<ScaleAttributes>().scale;
  const Values share = scale * call.values(1)[0] * weights(call, 2);
  return {share / call.values(0), -share};
}

}  // namespace

std::vector<NamedReference> cross_entropy_references() {
  return {{"row_max", row_max},
          {"cross_entropy_terms", terms},
          {"cross_entropy_terms_grad", terms_grad},
          {"cross_entropy", cross_entropy},
          {"cross_entropy_grad", cross_entropy_grad}};
}

}  // namespace shardscope::reference
