#include "engine/ops/grouped_linear.h"

#include "tests/reference/named_reference.h"

namespace shardscope::reference {

namespace {

// The expert of each row (q, p, c), or -1.
std::vector<int64_t> experts_of_rows(const Shape& rows, const Values& counts, int64_t n) {
  std::vector<int64_t> experts;
  for (int64_t block = 0; block < rows[0] * rows[1]; ++block) {
    const size_t end = experts.size() + static_cast<size_t>(rows[2]);
    for (int64_t e = 0; e < n; ++e) {
      experts.insert(experts.end(), static_cast<size_t>(counts[block * n + e]), block % rows[1] * n + e);
    }
    experts.resize(end, -1);
  }
  return experts;
}

Results grouped_linear(const Call& call) {
  const bool transposed = call.attributes.as<GroupedLinearAttributes>().transposed;
  const int64_t f = call.shape(2)[1], d = call.shape(2)[2], in = transposed ? f : d, out = transposed ? d : f;
  const std::vector<int64_t> experts = experts_of_rows(call.shape(0), call.values(1), call.shape(1)[2]);
  Values y = Values::Zero(static_cast<int64_t>(experts.size()) * out);
  for (int64_t row = 0; row < static_cast<int64_t>(experts.size()); ++row) {
    const int64_t expert = experts[static_cast<size_t>(row)];
    if (expert < 0) continue;
    for (int64_t i = 0; i < f; ++i) {
      for (int64_t j = 0; j < d; ++j) {
        const double weight = call.values(2)[(expert * f + i) * d + j];
        y[row * out + (transposed ? j : i)] += weight * call.values(0)[row * in + (transposed ? i : j)];
      }
    }
  }
  return {y};
}

Results grouped_linear_grad(const Call& call) {
  const int64_t d = call.shape(0)[3], f = call.shape(2)[3];
  const std::vector<int64_t> experts = experts_of_rows(call.shape(0), call.values(1), call.shape(1)[2]);
  Values dkernels = Values::Zero(call.shape(1)[1] * call.shape(1)[2] * f * d);
  for (int64_t row = 0; row < static_cast<int64_t>(experts.size()); ++row) {
    const int64_t expert = experts[static_cast<size_t>(row)];
    if (expert < 0) continue;
    for (int64_t i = 0; i < f; ++i) {
      dkernels.segment((expert * f + i) * d, d) += call.values(2)[row * f + i] * call.values(0).segment(row * d, d);
    }
  }
  return {dkernels};
}

}  // namespace

std::vector<NamedReference> grouped_linear_references() {
  return {{"grouped_linear", grouped_linear}, {"grouped_linear_grad", grouped_linear_grad}};
}

}  // namespace shardscope::reference
