#include <fmt/format.h>

#include "engine/base/name_pattern.h"
#include "engine/config/json_document.h"
#include "engine/config/place.h"
#include "engine/config/run_document.h"
#include "engine/config/run_file_keys.h"
#include "engine/config/run_keys.h"
#include "engine/config/strategy.h"

namespace shardscope {
namespace {

struct OptionWriter {
  template <class T>
  JsonNode operator()(const T& plain) const {
    return JsonNode::of(plain);
  }
  JsonNode operator()(const TextList& texts) const {
    JsonNode list = JsonNode::array();
    for (const std::string& text : texts) list.items.push_back(JsonNode::of(text));
    return list;
  }
};

// The option "overrides.a" is {"overrides": {"a": ...}}.
void add_option(JsonNode& node, const std::string& key, JsonNode value) {
  const size_t dot = key.find('.');
  JsonNode* inner = node.find(key.substr(0, dot));
  if (dot == std::string::npos || (inner && !inner->is(JsonNode::Kind::object))) {
    node.add(key, std::move(value));
    return;
  }
  if (!inner) inner = &node.add(key.substr(0, dot), JsonNode::object());
  add_option(*inner, key.substr(dot + 1), std::move(value));
}

JsonNode to_node(const NamedOptions& named, const std::string& section) {
  JsonNode node = JsonNode::object();
  node.add(run_file::choice_key(section), JsonNode::of(named.name));
  for (const auto& [key, value] : named.options) add_option(node, key, std::visit(OptionWriter{}, value));
  return node;
}

JsonNode to_node(const std::vector<MeshAxis>& axes, const std::vector<int>& devices) {
  JsonNode node = JsonNode::object();
  JsonNode& list = node.add("axes", JsonNode::array());
  for (const MeshAxis& axis : axes) {
    JsonNode& item = list.items.emplace_back(JsonNode::object());
    item.add("name", JsonNode::of(axis.name));
    item.add("size", JsonNode::of(axis.size));
  }
  if (devices.empty()) return node;
  JsonNode& order = node.add("devices", JsonNode::array());
  for (int device : devices) order.items.push_back(JsonNode::of(static_cast<int64_t>(device)));
  return node;
}

void add_parameter(JsonNode& parameters, const ParameterSpec& parameter) {
  auto refuse = [&](const char* message) {
    throw Failure(Error{"parameter_path", message, parameter_place(parameter), "one array for each parameter"});
  };
  if (parameter.path.empty()) refuse("a parameter has no path");
  JsonNode* node = &parameters;
  for (size_t i = 0; i < parameter.path.size(); ++i) {
    const bool last = i + 1 == parameter.path.size();
    JsonNode* next = node->find(parameter.path[i]);
    if (next && last) refuse("two specs for the same parameter, or one inside another");
    if (!next) next = &node->add(parameter.path[i], last ? to_node(parameter.spec) : JsonNode::object());
    if (!last && !next->is(JsonNode::Kind::object)) refuse("two specs for the same parameter, or one inside another");
    node = next;
  }
}

// The axes of one dimension as text, null or an array.
JsonNode axes_node(const std::vector<std::string>& axes) {
  JsonNode entry = axes.empty() ? JsonNode{} : JsonNode::array();
  for (const std::string& axis : axes) entry.items.push_back(JsonNode::of(axis));
  return axes.size() == 1 ? entry.items[0] : entry;
}

void add_placement(JsonNode& node, const PartitionSpec& spec) { node.add("spec", to_node(spec)); }

void add_placement(JsonNode& node, const LogicalAxes& logical) {
  JsonNode& axes = node.add("axes", JsonNode::object());
  for (const auto& [name, entry] : logical.axes) axes.add(name, axes_node(entry));
}

void add_placement(JsonNode& node, const LargestDimension& largest) {
  node.add("largest", axes_node(largest.axes));
  if (largest.minimum_bytes != 0) node.add("minimum_bytes", JsonNode::of(largest.minimum_bytes));
}

JsonNode names_list(const std::vector<std::string>& names) {
  JsonNode list = JsonNode::array();
  for (const std::string& name : names) list.items.push_back(JsonNode::of(name));
  return list;
}

JsonNode names_node(const std::string& names) {
  JsonNode list = JsonNode::array();
  for (const std::string& name : list_of_pattern(names)) list.items.push_back(JsonNode::of(name));
  return list.items.empty() ? JsonNode::of(names) : list;
}

JsonNode to_node(const SpecRule& rule) {
  JsonNode node = JsonNode::object();
  if (rule.names != "**" || std::holds_alternative<PartitionSpec>(rule.placement))
    node.add("names", names_node(rule.names));
  std::visit([&](const auto& placement) { add_placement(node, placement); }, rule.placement);
  if (!rule.dimensions.empty()) node.add("dimensions", names_list(rule.dimensions));
  if (rule.of == std::vector{SpecKind::parameter}) return node;
  JsonNode of = JsonNode::array();
  for (SpecKind kind : rule.of) of.items.push_back(JsonNode::of(run_file::spec_kinds()[static_cast<size_t>(kind)]));
  node.add("of", of.items.size() == 1 ? of.items[0] : of);
  return node;
}

JsonNode to_node(const StrategyConfig& strategy) {
  const StrategyConfig none;
  JsonNode node = JsonNode::object();
  const auto add = [&](const char* key, const auto& value, const auto& usual) {
    if (value != usual) node.add(key, JsonNode::of(value));
  };
  add("data", strategy.data, none.data);
  add("fsdp", strategy.fsdp, none.fsdp);
  add("tensor", strategy.tensor, none.tensor);
  add("pipeline", strategy.pipeline, none.pipeline);
  add("virtual_stages", strategy.virtual_stages, none.virtual_stages);
  add("pipeline_schedule", strategy.pipeline_schedule, none.pipeline_schedule);
  add("context", strategy.context, none.context);
  add("expert", strategy.expert, none.expert);
  add("sequence_parallel", strategy.sequence_parallel, none.sequence_parallel);
  add("zero", strategy.zero, none.zero);
  add("microbatch_size", strategy.microbatch_size, none.microbatch_size);
  if (!strategy.recompute.empty()) node.add("recompute", names_node(strategy.recompute));
  if (!strategy.order.empty()) node.add("order", names_list(strategy.order));
  return node;
}

JsonNode to_node(const ShardingConfig& sharding) {
  JsonNode node = JsonNode::object();
  node.add("mode", JsonNode::of(run_file::layout_modes()[static_cast<size_t>(sharding.mode)]));
  node.add("in", to_node(sharding.in));
  node.add("out", to_node(sharding.out));
  JsonNode& parameters = node.add("parameters", JsonNode::object());
  for (const ParameterSpec& parameter : sharding.parameters) add_parameter(parameters, parameter);
  if (!sharding.constraints.empty()) {
    JsonNode& constraints = node.add("constraints", JsonNode::object());
    for (const Constraint& constraint : sharding.constraints)
      constraints.add(constraint.names, to_node(constraint.spec));
  }
  if (!sharding.rules.empty()) {
    JsonNode& rules = node.add("rules", JsonNode::array());
    for (const SpecRule& rule : sharding.rules) rules.items.push_back(to_node(rule));
  }
  if (sharding.zero != ZeroConfig{}) node.add("zero", zero_type().write(sharding.zero));
  if (!sharding.keep.empty()) node.add("keep", names_list(sharding.keep));
  if (sharding.memory_limit_mib) node.add("memory_limit_mib", JsonNode::of(*sharding.memory_limit_mib));
  return node;
}

// What a run file with a strategy means where it has no sharding.
ShardingConfig strategy_default() {
  ShardingConfig sharding;
  sharding.mode = LayoutMode::as_written;
  return sharding;
}

}  // namespace

JsonNode to_node(const PartitionSpec& spec) {
  JsonNode node = JsonNode::array();
  for (const std::vector<std::string>& axes : spec.dims) node.items.push_back(axes_node(axes));
  return node;
}

JsonNode to_run_document(const RunConfig& config) {
  const std::optional<RunConfig> rest = without_expansion(config);
  const RunConfig& written = rest ? *rest : config;
  JsonNode node = JsonNode::object();
  node.add("model", to_node(config.model, "model"));
  if (rest) node.add("strategy", to_node(*config.strategy));
  if (!rest || !config.mesh_devices.empty()) node.add("mesh", to_node(config.mesh_axes, config.mesh_devices));
  if (!rest || written.sharding != strategy_default()) node.add("sharding", to_node(written.sharding));
  node.add("data", to_node(config.data, "data"));
  if (!config.optimizer.name.empty()) node.add("optimizer", to_node(config.optimizer, "optimizer"));
  if (config.precision != PrecisionConfig{}) node.add("precision", precision_type().write(config.precision));
  if (written.schedule != ScheduleConfig{}) {
    JsonNode& schedule = node.add("schedule", schedule_type().write(written.schedule));
    if (rest && config.strategy->microbatch_size > 0) schedule.remove("microbatches");
    if (rest && !config.strategy->recompute.empty()) schedule.remove("rematerialise");
  }
  if (written.pipeline != PipelineConfig{}) node.add("pipeline", pipeline_type().write(config.pipeline));
  if (!config.lint.off.empty()) {
    JsonNode& off = node.add("lint", JsonNode::object()).add("off", JsonNode::object());
    for (const auto& [rule, reason] : config.lint.off) off.add(rule, JsonNode::of(reason));
  }
  if (!config.machine.empty()) node.add("machine", read_json(config.machine, "machine"));
  if (!config.stack.empty()) node.add("stack", read_json(config.stack, "stack"));
  if (!config.hosts.empty()) node.add("hosts", JsonNode::of(config.hosts));
  node.add("seed", JsonNode::of(config.seed));
  node.add("steps", JsonNode::of(config.steps));
  node.add("deterministic", JsonNode::of(config.deterministic));
  return node;
}

int line_of(const JsonNode& document, const std::string& path) {
  const JsonNode* node = &document;
  for (const PlaceStep& step : split_place(path).value_or(std::vector<PlaceStep>{})) {
    const JsonNode* next = nullptr;
    if (!step.index) next = node->is(JsonNode::Kind::object) ? node->find(step.name) : nullptr;
    if (step.index && node->is(JsonNode::Kind::array) && *step.index < node->items.size()) {
      next = &node->items[*step.index];
    }
    if (!next) break;
    node = next;
  }
  return node->line;
}

}  // namespace shardscope
