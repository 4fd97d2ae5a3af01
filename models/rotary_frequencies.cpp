#include "models/rotary_frequencies.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace shardscope {

namespace {

constexpr double turn = 2 * std::numbers::pi;

double llama3_frequency(const RotaryScaling& scaling, double frequency) {
  const auto original = static_cast<double>(scaling.original_positions);
  const double wavelength = turn / frequency;
  if (wavelength < original / scaling.high_frequency_factor) return frequency;
  if (wavelength > original / scaling.low_frequency_factor) return frequency / scaling.factor;
  const double kept = (original / wavelength - scaling.low_frequency_factor) /
                      (scaling.high_frequency_factor - scaling.low_frequency_factor);
  return (1 - kept) * frequency / scaling.factor + kept * frequency;
}

// The pair, as a number, that makes so many rotations within the original positions.
double yarn_pair(const RotaryScaling& scaling, double rotations) {
  return static_cast<double>(scaling.size) *
         std::log(static_cast<double>(scaling.original_positions) / (rotations * turn)) / (2 * std::log(scaling.theta));
}

double yarn_frequency(const RotaryScaling& scaling, int64_t pair, double frequency) {
  double low = yarn_pair(scaling, scaling.beta_fast), high = yarn_pair(scaling, scaling.beta_slow);
  if (scaling.truncate) {
    low = std::floor(low);
    high = std::ceil(high);
  }
  low = std::max(low, 0.0);
  high = std::min(high, static_cast<double>(scaling.size - 1));
  if (low == high) high += 0.001;
  const double ramp = std::clamp((static_cast<double>(pair) - low) / (high - low), 0.0, 1.0);
  return frequency / scaling.factor * ramp + frequency * (1 - ramp);
}

// NTK-aware, for a sequence beyond the positions that the model was trained with.
double dynamic_theta(const RotaryScaling& scaling) {
  const auto size = static_cast<double>(scaling.size);
  const double length = static_cast<double>(std::max(scaling.sequence, scaling.positions));
  const double growth = scaling.factor * length / static_cast<double>(scaling.positions) - (scaling.factor - 1);
  return scaling.theta * std::pow(growth, size / (size - 2));
}

}  // namespace

RotaryAttributes rotary_attributes(const RotaryScaling& scaling) {
  using Kind = RotaryScaling::Kind;
  const std::vector<double>& factors =
      scaling.sequence > scaling.original_positions ? scaling.long_factors : scaling.short_factors;
  const double theta = scaling.kind == Kind::dynamic ? dynamic_theta(scaling) : scaling.theta;
  RotaryAttributes attributes;
  attributes.magnitude = static_cast<float>(scaling.magnitude);
  for (int64_t i = 0; 2 * i < scaling.size; ++i) {
    double frequency = std::pow(theta, -static_cast<double>(2 * i) / static_cast<double>(scaling.size));
    if (scaling.kind == Kind::linear) frequency /= scaling.factor;
    if (scaling.kind == Kind::llama3) frequency = llama3_frequency(scaling, frequency);
    if (scaling.kind == Kind::yarn) frequency = yarn_frequency(scaling, i, frequency);
    if (scaling.kind == Kind::longrope) frequency /= factors[static_cast<size_t>(i)];
    attributes.frequencies.push_back(static_cast<float>(frequency));
  }
  return attributes;
}

double yarn_magnitude(double factor, double scale) { return factor <= 1 ? 1 : 0.1 * scale * std::log(factor) + 1; }

}  // namespace shardscope
