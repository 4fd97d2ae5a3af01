#include "engine/ops/dropout.h"

#include "tests/reference/named_reference.h"

namespace shardscope::reference {

namespace {

Results dropout(const Call& call) {
  const DropoutAttributes& attributes = call.attributes.as<DropoutAttributes>();
  Values y = call.values(0);
  if (attributes.rate == 0) return {y};
  const Key key = key_at(attributes.key, call.step);
  for (int64_t i = 0; i < y.size(); ++i) {
    const bool kept = bernoulli(key, static_cast<uint64_t>(i), static_cast<float>(1 - attributes.rate));
    y[i] = kept ? y[i] / (1 - attributes.rate) : 0;
  }
  return {y};
}

}  // namespace

std::vector<NamedReference> dropout_references() { return {{"dropout", dropout}}; }

}  // namespace shardscope::reference
