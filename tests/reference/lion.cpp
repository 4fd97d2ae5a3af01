#include "engine/ops/lion.h"

#include "tests/reference/named_reference.h"

namespace shardscope::reference {

namespace {

Results lion(const Call& call) {
  const LionAttributes& a = call.attributes.as<LionAttributes>();
  const Values &parameter = call.values(0), &gradient = call.values(1), &mu = call.values(2);
  const Values direction = (a.b1 * mu + (1 - a.b1) * gradient).sign();
  return {parameter - a.learning_rate.at(call.step) * (direction + a.weight_decay * parameter),
          a.b2 * mu + (1 - a.b2) * gradient};
}

}  // namespace

std::vector<NamedReference> lion_references() { return {{"lion", lion}}; }

}  // namespace shardscope::reference
