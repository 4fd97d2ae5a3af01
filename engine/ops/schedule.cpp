#include "engine/ops/schedule.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

namespace shardscope {

namespace {

// optax.linear_schedule.
double linear(double init_value, double end_value, int64_t transition_steps, int64_t count) {
  const int64_t done = std::clamp<int64_t>(count, 0, transition_steps);
  const double left = 1 - static_cast<double>(done) / static_cast<double>(transition_steps);
  return (init_value - end_value) * left + end_value;
}

// optax.cosine_decay_schedule, as a share of its first value.
double cosine(int64_t decay_steps, double alpha, double exponent, int64_t count) {
  const double done = static_cast<double>(std::min(count, decay_steps)) / static_cast<double>(decay_steps);
  return (1 - alpha) * std::pow(0.5 * (1 + std::cos(std::numbers::pi * done)), exponent) + alpha;
}

}  // namespace

double Schedule::at(int64_t count) const {
  switch (kind) {
    case Kind::constant: break;
    case Kind::linear: return linear(value, end_value, transition_steps, count - transition_begin);
    case Kind::cosine_decay: return value * cosine(decay_steps, alpha, exponent, count);
    case Kind::warmup_constant: return linear(init_value, value, warmup_steps, count);
    case Kind::warmup_cosine_decay: {
      if (count < warmup_steps) return linear(init_value, value, warmup_steps, count);
      const double last = value == 0 ? 0 : end_value / value;
      return value * cosine(decay_steps - warmup_steps, last, exponent, count - warmup_steps);
    }
  }
  return value;
}

std::string to_string(const Schedule& s) {
  if (s.kind == Schedule::Kind::constant) return fmt::format("{}", s.value);
  return fmt::format(
      "{}(value={}, init_value={}, warmup_steps={}, decay_steps={}, end_value={}, alpha={}, exponent={}, "
      "transition_steps={}, transition_begin={})",
      schedule_names()[static_cast<size_t>(s.kind)], s.value, s.init_value, s.warmup_steps, s.decay_steps, s.end_value,
      s.alpha, s.exponent, s.transition_steps, s.transition_begin);
}

const std::vector<std::string>& schedule_names() {
  static const std::vector<std::string> names{"constant", "linear", "cosine_decay", "warmup_constant",
                                              "warmup_cosine_decay"};
  return names;
}

}  // namespace shardscope
