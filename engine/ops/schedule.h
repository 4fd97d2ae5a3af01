#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace shardscope {

// A learning rate by how many updates were made before, after the schedules of Optax that have these names (optax.
// schedules; `linear` is linear_schedule, and so on). Fields have the names of their arguments, but for `value`:
// Optax's value (constant), init_value (linear, cosine_decay) or peak_value (the warm-ups).
//
// Example: warmup_cosine_decay with warmup_steps 4 and decay_steps 12, of which these 4 are part:
//   count < 4:   init_value + (value - init_value) count / 4
//   4 .. 12:     end_value + (value - end_value) ((1 + cos(pi (count - 4) / 8)) / 2)^exponent
//   from 12 on:  end_value
struct Schedule {
  enum class Kind : uint8_t { constant, linear, cosine_decay, warmup_constant, warmup_cosine_decay };

  Schedule(double constant = 0) : value(constant) {}  // a number is a schedule

  double at(int64_t count) const;

  Kind kind = Kind::constant;
  double value = 0;
  double init_value = 0;  // where a warm-up begins
  int64_t warmup_steps = 0;
  int64_t decay_steps = 0;  // with the warm-up's
  double end_value = 0;     // of linear and warmup_cosine_decay
  double alpha = 0;         // of cosine_decay: share of the value that is left at the end
  double exponent = 1;      // of the cosine
  int64_t transition_steps = 0;
  int64_t transition_begin = 0;

  bool operator==(const Schedule&) const = default;
};
std::string to_string(const Schedule& schedule);  // a number where it is constant

const std::vector<std::string>& schedule_names();  // in the order of Kind

}  // namespace shardscope
