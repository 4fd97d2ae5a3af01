#include "engine/config/strategy.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>

#include "engine/base/error.h"
#include "engine/base/name_pattern.h"
#include "engine/config/place.h"
#include "engine/config/run_file_keys.h"
#include "engine/mesh/device_count.h"

namespace shardscope {

namespace {

struct Degree {
  const char* axis;
  int64_t StrategyConfig::*value;
};
constexpr std::array<Degree, 6> degrees = {{{"pipeline", &StrategyConfig::pipeline},
                                            {"data", &StrategyConfig::data},
                                            {"fsdp", &StrategyConfig::fsdp},
                                            {"expert", &StrategyConfig::expert},
                                            {"context", &StrategyConfig::context},
                                            {"tensor", &StrategyConfig::tensor}}};

// What `order` leaves out is outside of what it names.
std::vector<std::string> axis_order(const StrategyConfig& strategy) {
  std::vector<std::string> order = default_order();
  std::erase_if(order, [&](const std::string& axis) { return std::ranges::count(strategy.order, axis) > 0; });
  for (const std::string& axis : strategy.order) {
    if (std::ranges::count(order, axis) == 0 && std::ranges::count(default_order(), axis) > 0) order.push_back(axis);
  }
  return order;
}

// Those of the axes that split something.
std::vector<std::string> split_by(const StrategyConfig& strategy, std::vector<std::string> axes) {
  std::erase_if(axes, [&](const std::string& axis) { return degree(strategy, axis) <= 1; });
  return axes;
}

void add_axes(LogicalAxes& rule, const char* dimension, std::vector<std::string> axes) {
  if (!axes.empty()) rule.axes.emplace_back(dimension, std::move(axes));
}

std::vector<SpecRule> strategy_rules(const StrategyConfig& strategy) {
  const std::vector<std::string> batch = split_by(strategy, {"data", "fsdp", "expert"}),
                                 context = split_by(strategy, {"context"}), tensor = split_by(strategy, {"tensor"});
  LogicalAxes parameters, outputs;
  for (const char* dimension : {"heads", "kv_heads", "mlp", "vocab"}) add_axes(parameters, dimension, tensor);
  add_axes(parameters, "experts", split_by(strategy, {"expert"}));
  add_axes(outputs, "batch", batch);
  add_axes(outputs, "length", context);
  add_axes(outputs, "vocab", tensor);
  std::vector<SpecRule> rules;
  const auto add = [&](LogicalAxes axes, SpecKind of, std::vector<std::string> dimensions) {
    if (!axes.axes.empty()) rules.push_back({"**", std::move(axes), {of}, std::move(dimensions)});
  };
  add(parameters, SpecKind::parameter, {});
  add(outputs, SpecKind::output, {});
  if (!strategy.sequence_parallel || tensor.empty()) return rules;
  const auto of_activations = [&](std::vector<std::string> length, const char* split, std::vector<std::string> rest) {
    LogicalAxes axes;
    add_axes(axes, "batch", batch);
    add_axes(axes, "length", std::move(length));
    if (split) add_axes(axes, split, tensor);
    rest.insert(rest.begin(), {"batch", "length"});
    add(std::move(axes), SpecKind::activation, std::move(rest));
  };
  of_activations(split_by(strategy, {"context", "tensor"}), nullptr, {"embed"});
  of_activations(context, "heads", {"heads", "kv"});
  of_activations(context, "kv_heads", {"kv_heads", "kv"});
  of_activations(context, "mlp", {"mlp"});
  of_activations(context, "vocab", {"vocab"});
  return rules;
}

PartitionSpec inputs(const StrategyConfig& strategy) {
  PartitionSpec spec{{split_by(strategy, {"data", "fsdp", "expert"}), split_by(strategy, {"context"})}};
  while (!spec.dims.empty() && spec.dims.back().empty()) spec.dims.pop_back();
  return spec;
}

ZeroConfig zero(const StrategyConfig& strategy) {
  if (strategy.fsdp > 1) return {3, {"fsdp"}};
  std::vector<std::string> axes = split_by(strategy, {"data", "expert", "context"});
  if (strategy.zero == 0 || axes.empty()) return {};
  return {strategy.zero, std::move(axes)};
}

std::string rematerialised(const std::string& recompute) {
  std::vector<std::string> names = list_of_pattern(recompute);
  const auto translate = [](const std::string& name) { return name == "selective" ? "attention" : name; };
  if (names.empty()) return translate(recompute);
  std::ranges::transform(names, names.begin(), translate);
  return pattern_of_list(names);
}

int64_t microbatches(const RunConfig& config) {
  const OptionValue* rows = config.data.find("batch_size");
  const auto* batch = rows ? std::get_if<int64_t>(rows) : nullptr;
  const int64_t replicas = config.strategy->replicas(), size = config.strategy->microbatch_size;
  if (!batch || *batch / replicas < size) return 1;
  return *batch / replicas / size;
}

// Takes away what the strategy stands for, whether or not the config has it.
void remove_expansion(RunConfig& config) {
  const StrategyConfig& strategy = *config.strategy;
  config.mesh_axes.clear();
  config.sharding.in = {};
  const size_t own = strategy_rules(strategy).size();
  config.sharding.rules.resize(config.sharding.rules.size() - std::min(own, config.sharding.rules.size()));
  config.sharding.keep.clear();
  config.sharding.zero = {};
  if (strategy.microbatch_size > 0) config.schedule.microbatches = 1;
  if (!strategy.recompute.empty()) config.schedule.rematerialise = "none";
  PipelineConfig pipeline;
  pipeline.layers = config.pipeline.layers;
  config.pipeline = std::move(pipeline);
}

}  // namespace

int64_t StrategyConfig::devices() const {
  std::vector<MeshAxis> axes;
  for (const Degree& each : degrees) axes.push_back({each.axis, this->*each.value});
  return device_count(axes);
}

int64_t StrategyConfig::replicas() const { return device_count({{"data", data}, {"fsdp", fsdp}, {"expert", expert}}); }

const std::vector<std::string>& default_order() {
  static const std::vector<std::string> order = [] {
    std::vector<std::string> names;
    for (const Degree& each : degrees) names.emplace_back(each.axis);
    return names;
  }();
  return order;
}

int64_t* find_degree(StrategyConfig& strategy, const std::string& axis) {
  for (const Degree& each : degrees) {
    if (axis == each.axis) return &(strategy.*each.value);
  }
  return nullptr;
}

int64_t degree(const StrategyConfig& strategy, const std::string& axis) {
  StrategyConfig copy = strategy;
  const int64_t* value = find_degree(copy, axis);
  return value ? *value : 1;
}

std::string pipeline_schedule(const StrategyConfig& strategy) {
  const bool interleaved = strategy.virtual_stages > 1 && strategy.pipeline_schedule == "1f1b";
  return interleaved ? "interleaved" : strategy.pipeline_schedule;
}

std::string recompute_of(const std::string& rematerialise) {
  return rematerialise == "attention" ? "selective" : rematerialise;
}

const std::vector<std::string>& recompute_policies() {
  static const std::vector<std::string> policies = [] {
    std::vector<std::string> names = run_file::rematerialise_policies();
    std::ranges::transform(names, names.begin(), recompute_of);
    return names;
  }();
  return policies;
}

RunConfig expand_strategy(RunConfig config) {
  const StrategyConfig& strategy = *config.strategy;
  config.mesh_axes.clear();
  for (const std::string& axis : split_by(strategy, axis_order(strategy)))
    config.mesh_axes.push_back({axis, degree(strategy, axis)});
  config.sharding.in = inputs(strategy);
  std::ranges::move(strategy_rules(strategy), std::back_inserter(config.sharding.rules));
  config.sharding.keep = split_by(strategy, {"expert", "tensor"});
  config.sharding.zero = zero(strategy);
  if (strategy.microbatch_size > 0) config.schedule.microbatches = microbatches(config);
  if (!strategy.recompute.empty()) config.schedule.rematerialise = rematerialised(strategy.recompute);
  if (strategy.pipeline > 1) {
    config.pipeline.axis = "pipeline";
    config.pipeline.schedule = pipeline_schedule(strategy);
    config.pipeline.chunks = strategy.virtual_stages;
  }
  return config;
}

std::optional<RunConfig> without_expansion(const RunConfig& config) {
  if (!config.strategy) return std::nullopt;
  RunConfig rest = config;
  remove_expansion(rest);
  if (expand_strategy(rest) != config) return std::nullopt;
  return rest;
}

RunConfig with_strategy(RunConfig config, StrategyConfig strategy) {
  const bool is_another_size = strategy.devices() != device_count(config.mesh_axes);
  if (std::optional<RunConfig> rest = without_expansion(config)) {
    config = std::move(*rest);
  } else {
    config.sharding.in = config.sharding.out = {};
    config.sharding.parameters.clear();
    config.sharding.constraints.clear();
    config.sharding.rules.clear();
    config.sharding.keep.clear();
    config.sharding.zero = {};
    config.sharding.mode = LayoutMode::as_written;
    config.schedule.microbatches = 1;
    config.pipeline = {};
  }
  if (is_another_size) config.mesh_devices.clear();
  if (strategy.microbatch_size > 0) config.schedule.microbatches = 1;
  if (!strategy.recompute.empty()) config.schedule.rematerialise = "none";
  if (strategy.pipeline * strategy.virtual_stages != static_cast<int64_t>(config.pipeline.layers.size()))
    config.pipeline.layers.clear();
  config.strategy = std::move(strategy);
  return expand_strategy(std::move(config));
}

std::string strategy_place(const RunConfig& config, const std::string& path) {
  if (!config.strategy) return path;
  const StrategyConfig& strategy = *config.strategy;
  for (size_t i = 0; i < config.mesh_axes.size(); ++i) {
    if (is_inside(path, element_place("mesh.axes", i))) return "strategy." + config.mesh_axes[i].name;
  }
  for (size_t i = *first_rule_of_strategy(config); i < config.sharding.rules.size(); ++i) {
    if (is_inside(path, rule_place(i))) return "strategy";
  }
  const auto is_of = [&](const char* place) { return is_inside(path, place); };
  if (is_of("mesh.axes") || is_of("sharding.in") || is_of("sharding.keep")) return "strategy";
  if (is_of("sharding.zero")) return strategy.fsdp > 1 ? "strategy.fsdp" : "strategy.zero";
  if (is_of("schedule.microbatches") && strategy.microbatch_size > 0) return "strategy.microbatch_size";
  if (is_of("schedule.rematerialise") && !strategy.recompute.empty()) return "strategy.recompute";
  if (is_of("pipeline.axis")) return "strategy.pipeline";
  if (is_of("pipeline.schedule")) return "strategy.pipeline_schedule";
  if (is_of("pipeline.chunks")) return "strategy.virtual_stages";
  return path == "pipeline" ? "strategy.pipeline" : path;
}

std::optional<size_t> first_rule_of_strategy(const RunConfig& config) {
  if (!config.strategy) return std::nullopt;
  const size_t all = config.sharding.rules.size();
  return all - std::min(strategy_rules(*config.strategy).size(), all);
}

std::string in_words_of_strategy(std::string text, size_t first_rule) {
  const std::string rules = "sharding.rules[", axes = ".axes.";
  for (size_t at = 0; (at = text.find(rules, at)) != std::string::npos;) {
    const size_t number = at + rules.size(), close = text.find(']', number);
    size_t index = 0;
    const char* end = text.data() + std::min(close, text.size());
    const bool is_place = std::from_chars(text.data() + number, end, index).ptr == end && close != std::string::npos;
    if (!is_place || index < first_rule) {
      at = number;
      continue;
    }
    size_t behind = close + 1;
    std::string words = "strategy";
    if (text.compare(behind, axes.size(), axes) == 0) {
      const size_t begin = behind + axes.size();
      behind = std::min(text.find_first_of(" :;,\n", begin), text.size());
      words += " (" + text.substr(begin, behind - begin) + ")";
    }
    text.replace(at, behind - at, words);
    at += words.size();
  }
  return text;
}

}  // namespace shardscope
