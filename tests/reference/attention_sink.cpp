#include <cmath>

#include "tests/reference/named_reference.h"

namespace shardscope::reference {

namespace {

// Calls visit(index of the row's first element in context, index in lse, head) for each (b, q, h).
template <class Visit>
void for_rows(const Shape& context, Visit visit) {
  for (int64_t row = 0; row < context[0] * context[1] * context[2]; ++row) {
    const int64_t h = row % context[2], q = row / context[2] % context[1], b = row / context[2] / context[1];
    visit(row * context[3], (b * context[2] + h) * context[1] + q, h);
  }
}

double share(double lse, double sink) { return std::exp(lse) / (std::exp(lse) + std::exp(sink)); }

Results attention_sink(const Call& call) {
  Values y = call.values(0);
  const int64_t size = call.shape(0)[3];
  for_rows(call.shape(0), [&](int64_t at, int64_t row, int64_t h) {
    y.segment(at, size) *= share(call.values(1)[row], call.values(2)[h]);
  });
  return {y};
}

Results attention_sink_grad(const Call& call) {
  const Values &dy = call.values(0), &context = call.values(1), &lse = call.values(2), &sinks = call.values(3);
  Values dcontext(dy.size()), dlse(lse.size()), dsinks = Values::Zero(sinks.size());
  const int64_t size = call.shape(0)[3];
  for_rows(call.shape(0), [&](int64_t at, int64_t row, int64_t h) {
    const double kept = share(lse[row], sinks[h]);
    dcontext.segment(at, size) = kept * dy.segment(at, size);
    dlse[row] = (dy.segment(at, size) * context.segment(at, size)).sum() * kept * (1 - kept);
    dsinks[h] -= dlse[row];
  });
  return {dcontext, dlse, dsinks};
}

}  // namespace

std::vector<NamedReference> attention_sink_references() {
  return {{"attention_sink", attention_sink}, {"attention_sink_grad", attention_sink_grad}};
}

}  // namespace shardscope::reference
