#include "tests/reference/named_reference.h"

namespace shardscope::reference {

namespace {

Results next_token(const Call& call) {
  const int64_t length = call.shape(0)[1];
  Values labels = call.values(0), weights = Values::Constant(labels.size(), 1.0 * length / (length - 1));
  for (int64_t i = 0; i < labels.size(); ++i) {
    const bool last = (i + 1) % length == 0;
    labels[i] = last ? 0 : call.values(0)[i + 1];
    if (last) weights[i] = 0;
  }
  return {labels, weights};
}

}  // namespace

std::vector<NamedReference> next_token_references() { return {{"next_token", next_token}}; }

}  // namespace shardscope::reference
