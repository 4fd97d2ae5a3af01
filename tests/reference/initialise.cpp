#include "engine/ops/initialise.h"

#include "tests/reference/families.h"

namespace shardscope::reference {

namespace {

using Kind = InitialiseAttributes::Kind;

double element(const InitialiseAttributes& a, uint64_t index) {
  const float bound = static_cast<float>(a.scale);
  switch (a.kind) {
    case Kind::constant: return a.scale;
    case Kind::normal: return a.scale * normal(a.key, index);
    case Kind::truncated_normal: return a.scale * truncated_normal(a.key, index, -2, 2);
    case Kind::uniform: return uniform(a.key, index, -bound, bound);
  }
  return 0;
}

Results initialise(const Call& call) {
  const InitialiseAttributes& attributes = call.attributes.as<InitialiseAttributes>();
  Values x(element_count(attributes.type.shape));
  for (int64_t i = 0; i < x.size(); ++i) x[i] = element(attributes, static_cast<uint64_t>(i));
  return {x};
}

}  // namespace

std::vector<NamedReference> initialise_references() { return {{"initialise", initialise}}; }

}  // namespace shardscope::reference
