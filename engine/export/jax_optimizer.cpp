#include "engine/export/jax_optimizer.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "engine/base/name_pattern.h"
#include "engine/export/jax_source.h"
#include "engine/optim/learning_rate.h"
#include "engine/optim/momentum.h"
#include "engine/optim/optimizer.h"

namespace shardscope {

namespace {

const OptionValue& value_of(const OptionList& options, const std::string& name) { return *find_option(options, name); }

std::string argument(const OptionList& options, const std::string& name) {
  return fmt::format("{}={}", name, python_value(value_of(options, name)));
}

// Optax's schedule, of which the learning rate is the peak or the beginning.
std::string schedule_lines(const OptionList& options) {
  const std::string& kind = string_option(options, "schedule");
  const std::vector<std::string> idle = idle_schedule_options(options);
  std::vector<std::string> arguments{fmt::format("{}={}", kind.starts_with("warmup") ? "peak_value" : "init_value",
                                                 python_value(value_of(options, "learning_rate")))};
  for (const std::string name : {"init_value", "warmup_steps", "decay_steps", "end_value", "alpha", "exponent",
                                 "transition_steps", "transition_begin"}) {
    if (std::ranges::find(idle, name) == idle.end()) arguments.push_back(argument(options, name));
  }
  return fmt::format("learning_rate = optax.{}_schedule(\n    {})\n", kind, fmt::join(arguments, ", "));
}

// A pattern of names without braces as a regular expression.
std::string expression_of(const std::string& pattern) {
  std::string text;
  for (size_t i = 0; i < pattern.size(); ++i) {
    const std::string_view rest = std::string_view(pattern).substr(i);
    if (rest.starts_with("**/")) text += "(.*/)?", i += 2;
    else if (rest.starts_with("**")) text += ".*", i += 1;
    else if (rest[0] == '*') text += "[^/]*";
    else if (std::string_view(".+?()[]{}|^$\\").find(rest[0]) != std::string_view::npos)
      text += std::string("\\") + rest[0];
    else text += rest[0];
  }
  return text;
}

std::string mask_lines(const OptionList& options) {
  std::vector<std::string> expressions;
  for (const std::string& pattern : split_patterns(string_option(options, "decay_mask"))) {
    for (const std::string& alternative : alternatives(pattern)) expressions.push_back(expression_of(alternative));
  }
  return fmt::format(R"(DECAYED = re.compile(r"{}")


def decays(params):
    return jax.tree_util.tree_map_with_path(lambda keys, _: bool(DECAYED.fullmatch(name_of(keys))), params)


)",
                     fmt::join(expressions, "|"));
}

}  // namespace

JaxOptimizer jax_optimizer(const NamedOptions& optimizer) {
  std::vector<Error> errors;
  const OptionList options =
      resolve_options(find_optimizer(optimizer.name)->options, optimizer.options, "optimizer", errors);
  JaxOptimizer result;
  result.scheduled = learning_rate(options).kind != Schedule::Kind::constant;
  const bool momentum = optimizer.name == "sgd" && has_momentum(options);
  const bool averages = optimizer.name == "sgd" && !momentum;  // gradients, which no optimizer of Optax does by itself
  const bool masked =
      (optimizer.name == "adamw" || optimizer.name == "lion") && string_option(options, "decay_mask") != "**";
  const std::string rate = result.scheduled ? "learning_rate" : "LEARNING_RATE";
  if (masked) result.source += mask_lines(options);
  if (result.scheduled) result.source += schedule_lines(options);
  static const std::vector<std::string> of_optax{"b1", "b2", "eps", "weight_decay", "momentum", "nesterov"};
  std::string update;
  if (averages) {
    result.kept = {{"ema", "momentum"}};
    update = fmt::format("optax.ema({}, debias=False), optax.scale_by_learning_rate({})",
                         python_value(value_of(options, "decay")), rate);
  } else if (optimizer.name == "set_to_zero") {
    update = "optax.set_to_zero()";
  } else {
    if (momentum) result.kept = {{"trace", "trace"}};
    else if (optimizer.name == "lion") result.kept = {{"mu", "mu"}};
    else result.kept = {{"mu", "mu"}, {"nu", "nu"}};
    std::vector<std::string> arguments{rate};
    for (const OptionDefinition& option : find_optimizer(optimizer.name)->options) {
      if (std::ranges::find(of_optax, option.name) != of_optax.end() &&
          value_of(options, option.name) != option.default_value) {
        arguments.push_back(argument(options, option.name));
      }
    }
    if (masked) arguments.push_back("mask=decays");
    update = fmt::format("optax.{}({})", optimizer.name, fmt::join(arguments, ", "));
  }
  const double norm = real_option(options, "clip_by_global_norm");
  if (norm > 0) update = fmt::format("optax.clip_by_global_norm({}), {}", norm, update);
  const bool chained = norm > 0 || averages;
  result.source +=
      chained ? fmt::format("optimizer = optax.chain({})\n", update) : fmt::format("optimizer = {}\n", update);
  return result;
}

}  // namespace shardscope
