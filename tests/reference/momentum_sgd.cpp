#include "engine/ops/momentum_sgd.h"

#include "tests/reference/named_reference.h"

namespace shardscope::reference {

namespace {

Results momentum_sgd(const Call& call) {
  const MomentumSgdAttributes& a = call.attributes.as<MomentumSgdAttributes>();
  const Values &parameter = call.values(0), &gradient = call.values(1);
  const Values trace = gradient + a.momentum * call.values(2);
  const Values step = a.nesterov ? Values(gradient + a.momentum * trace) : trace;
  return {parameter - a.learning_rate.at(call.step) * step, trace};
}

}  // namespace

std::vector<NamedReference> momentum_sgd_references() { return {{"momentum_sgd", momentum_sgd}}; }

}  // namespace shardscope::reference
