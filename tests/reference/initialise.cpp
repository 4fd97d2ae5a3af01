#include "engine/ops/initialise.h"

#include <cmath>

#include "tests/reference/named_reference.h"

namespace shardscope::reference {

namespace {

using Kind = InitialiseAttributes::Kind;

// Frequencies and angles are rounded to f32 by definition.
double sinusoid(const InitialiseAttributes& a, uint64_t index) {
  const auto features = static_cast<uint64_t>(a.type.shape[1]);
  const uint64_t position = index / features, pair = index % features / 2 * 2;
  const float exponent = -std::log(static_cast<float>(a.scale)) / static_cast<float>(features);
  const double angle = static_cast<float>(position) * std::exp(exponent * static_cast<float>(pair));
  return index % 2 == 0 ? std::sin(angle) : std::cos(angle);
}

double element(const InitialiseAttributes& a, uint64_t index) {
  switch (a.kind) {
    case Kind::constant: return a.scale;
    case Kind::normal: return a.scale * normal(a.key, index);
    case Kind::truncated_normal: return a.scale * truncated_normal(a.key, index, -2, 2);
    case Kind::uniform: return a.scale * uniform(a.key, index, -1, 1);
    case Kind::sinusoidal: return sinusoid(a, index);
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
