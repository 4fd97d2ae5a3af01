#include "engine/ops/rotary.h"
#include "engine/ops/zigzag.h"

#include <complex>

#include "tests/reference/named_reference.h"

namespace shardscope::reference {

namespace {

// Each pair as a complex number times e^(i angle).
Results rotary(const Call& call) {
  const auto& attributes = call.attributes.as<RotaryAttributes>();
  const Shape& shape = call.shape(0);
  const auto pairs = static_cast<int64_t>(attributes.frequencies.size());
  Values y = call.values(0);
  for (int64_t row = 0; row < shape[0] * shape[1]; ++row) {
    const auto position = static_cast<float>(Zigzag{attributes.blocks, shape[1]}.position(row % shape[1]));
    for (int64_t head = row * shape[2]; head < (row + 1) * shape[2]; ++head) {
      for (int64_t i = 0; i < pairs; ++i) {
        const double angle = attributes.frequencies[static_cast<size_t>(i)] * position;  // in f32
        const int64_t first = head * shape[3] + (attributes.interleaved ? 2 * i : i);
        const int64_t second = first + (attributes.interleaved ? 1 : pairs);
        const std::complex<double> turned =
            std::complex<double>(y[first], y[second]) *
            std::polar<double>(attributes.magnitude, attributes.backward ? -angle : angle);
        y[first] = turned.real();
        y[second] = turned.imag();
      }
    }
  }
  return {y};
}

}  // namespace

std::vector<NamedReference> rotary_references() { return {{"rotary", rotary}}; }

}  // namespace shardscope::reference
