#include "engine/ops/sgd.h"

#include "tests/reference/named_reference.h"

namespace shardscope::reference {

namespace {

Results sgd(const Call& call) {
  const SgdAttributes& a = call.attributes.as<SgdAttributes>();
  const Values momentum = a.decay * call.values(2) + (1 - a.decay) * call.values(1);
  return {call.values(0) - a.learning_rate.at(call.step) * momentum, momentum};
}

}  // namespace

std::vector<NamedReference> sgd_references() { return {{"sgd", sgd}}; }

}  // namespace shardscope::reference
