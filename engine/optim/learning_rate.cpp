#include "engine/optim/learning_rate.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <tuple>

#include "engine/base/plural.h"

namespace shardscope {

namespace {

using Kind = Schedule::Kind;

// Beside learning_rate.
const std::vector<std::string>& arguments(Kind kind) {
  static const std::vector<std::vector<std::string>> by_kind{
      {},
      {"end_value", "transition_steps", "transition_begin"},
      {"decay_steps", "alpha", "exponent"},
      {"init_value", "warmup_steps"},
      {"init_value", "warmup_steps", "decay_steps", "end_value", "exponent"}};
  return by_kind[static_cast<size_t>(kind)];
}

bool has_learning_rate(const OptionList& options) { return find_option(options, "learning_rate"); }

Kind kind_of(const OptionList& options) {
  if (!has_learning_rate(options)) return Kind::constant;
  const std::vector<std::string>& names = schedule_names();
  return static_cast<Kind>(std::ranges::find(names, string_option(options, "schedule")) - names.begin());
}

Error too_few(const std::string& option, int64_t steps, int64_t above, const std::string& why) {
  return {"out_of_range", fmt::format("{} {} too few: {}", counted(steps, "step"), plural(steps, "is", "are"), why),
          "optimizer." + option, fmt::format("at least {}", above + 1)};
}

std::vector<OptionDefinition> schedule_options() {
  constexpr double most = 1e15;
  return {{"init_value", 0.0, false, 0, 1e6, "learning rate of the first step of a warm-up"},
          {"warmup_steps", int64_t{0}, false, 0, most, "steps in which the learning rate grows to its peak"},
          {"decay_steps", int64_t{0}, false, 0, most, "steps until the cosine's end, the warm-up's included"},
          {"end_value", 0.0, false, 0, 1e6, "learning rate at the end of schedules linear and warmup_cosine_decay"},
          {"alpha", 0.0, false, 0, 1, "share of the learning rate that cosine_decay leaves at its end"},
          {"exponent", 1.0, false, 0, 1e3, "power to which the cosine is raised"},
          {"transition_steps", int64_t{0}, false, 0, most, "steps in which schedule linear goes to end_value"},
          {"transition_begin", int64_t{0}, false, 0, most, "steps before schedule linear leaves learning_rate"}};
}

}  // namespace

std::vector<OptionDefinition> learning_rate_options(double example) {
  std::vector<OptionDefinition> options{
      {"learning_rate", example, true, 0, 1e6, "step size; with a schedule its peak, or where it begins"},
      {"schedule", std::string("constant"), false, 0, 0, "how the learning rate changes with the step, as in Optax",
       schedule_names()}};
  std::ranges::move(schedule_options(), std::back_inserter(options));
  return options;
}

Schedule learning_rate(const OptionList& options) {
  if (!has_learning_rate(options)) return {};
  Schedule schedule(real_option(options, "learning_rate"));
  schedule.kind = kind_of(options);
  schedule.init_value = real_option(options, "init_value");
  schedule.warmup_steps = integer_option(options, "warmup_steps");
  schedule.decay_steps = integer_option(options, "decay_steps");
  schedule.end_value = real_option(options, "end_value");
  schedule.alpha = real_option(options, "alpha");
  schedule.exponent = real_option(options, "exponent");
  schedule.transition_steps = integer_option(options, "transition_steps");
  schedule.transition_begin = integer_option(options, "transition_begin");
  return schedule;
}

std::vector<Error> check_learning_rate(const OptionList& options) {
  const Schedule schedule = learning_rate(options);
  const auto [kind, warmup, decay] = std::tuple(schedule.kind, schedule.warmup_steps, schedule.decay_steps);
  if (kind == Kind::linear && schedule.transition_steps < 1) {
    return {too_few("transition_steps", schedule.transition_steps, 0, "schedule linear needs some to change in")};
  }
  if (kind == Kind::warmup_constant && warmup < 1) {
    return {too_few("warmup_steps", warmup, 0, "schedule warmup_constant needs some to grow in")};
  }
  if (kind == Kind::cosine_decay && decay < 1) {
    return {too_few("decay_steps", decay, 0, "schedule cosine_decay needs some to decay in")};
  }
  if (kind == Kind::warmup_cosine_decay && decay <= warmup) {
    return {too_few("decay_steps", decay, warmup, fmt::format("{} of them are the warm-up's", warmup))};
  }
  return {};
}

std::vector<std::string> idle_schedule_options(const OptionList& options) {
  const std::vector<std::string>& used = arguments(kind_of(options));
  std::vector<std::string> idle;
  for (const OptionDefinition& option : schedule_options()) {
    if (std::ranges::find(used, option.name) == used.end()) idle.push_back(option.name);
  }
  return idle;
}

std::vector<Error> unused_schedule_options(const OptionList& options) {
  if (!has_learning_rate(options)) return {};
  const Kind kind = kind_of(options);
  const std::vector<std::string>&used = arguments(kind), idle = idle_schedule_options(options);
  std::vector<Error> unused;
  for (const OptionDefinition& option : schedule_options()) {
    const auto given = std::ranges::find_if(options, [&](const auto& one) { return one.first == option.name; });
    if (given->second == option.default_value || std::ranges::find(idle, option.name) == idle.end()) continue;
    unused.push_back(
        {"unused_option",
         fmt::format("schedule {} takes no {}", schedule_names()[static_cast<size_t>(kind)], option.name),
         "optimizer." + option.name,
         used.empty() ? "name a schedule, or leave it out" : fmt::format("it takes {}", fmt::join(used, ", "))});
  }
  return unused;
}

}  // namespace shardscope
