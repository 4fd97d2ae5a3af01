#include "engine/ops/scale.h"
#include "tests/reference/named_reference.h"

namespace shardscope::reference {

namespace {

Results squared_error(const Call& call) {
  const double scale = call.attributes.as<ScaleAttributes>().scale;
  return {Values::Constant(1, scale * (call.values(0) - call.values(1)).square().sum())};
}

Results squared_error_grad(const Call& call) {
  const double scale = call.attributes.as<ScaleAttributes>().scale;
  return {2 * scale * call.values(2)[0] * (call.values(0) - call.values(1))};
}

}  // namespace

std::vector<NamedReference> squared_error_references() {
  return {{"squared_error", squared_error}, {"squared_error_grad", squared_error_grad}};
}

}  // namespace shardscope::reference
