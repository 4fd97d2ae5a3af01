#include "engine/ops/adam.h"

#include <cmath>

#include "tests/reference/named_reference.h"

namespace shardscope::reference {

namespace {

Results adam(const Call& call) {
  const AdamAttributes& a = call.attributes.as<AdamAttributes>();
  const Values &parameter = call.values(0), &gradient = call.values(1);
  const double t = static_cast<double>(call.step + 1);
  const Values mu = a.b1 * call.values(2) + (1 - a.b1) * gradient;
  const Values nu = a.b2 * call.values(3) + (1 - a.b2) * gradient.square();
  const Values mu_hat = mu / (1 - std::pow(a.b1, t)), nu_hat = nu / (1 - std::pow(a.b2, t));
  const Values update = mu_hat / (nu_hat.sqrt() + a.eps) + a.weight_decay * parameter;
  return {parameter - a.learning_rate.at(call.step) * update, mu, nu};
}

}  // namespace

std::vector<NamedReference> adam_references() { return {{"adam", adam}}; }

}  // namespace shardscope::reference
