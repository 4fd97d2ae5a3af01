#include <fmt/format.h>

#include "engine/config/place.h"
#include "engine/config/run_document.h"
#include "engine/config/run_file_keys.h"

namespace shardscope {
namespace {

JsonNode to_node(const NamedOptions& named, const std::string& section) {
  JsonNode node = JsonNode::object();
  node.add(run_file::choice_key(section), JsonNode::of(named.name));
  for (const auto& [key, value] : named.options) {
    node.add(key, std::visit([](const auto& plain) { return JsonNode::of(plain); }, value));
  }
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

JsonNode to_node(const ShardingConfig& sharding) {
  JsonNode node = JsonNode::object();
  node.add("mode", JsonNode::of(run_file::layout_modes()[static_cast<size_t>(sharding.mode)]));
  node.add("in", to_node(sharding.in));
  node.add("out", to_node(sharding.out));
  JsonNode& parameters = node.add("parameters", JsonNode::object());
  for (const ParameterSpec& parameter : sharding.parameters) add_parameter(parameters, parameter);
  return node;
}

}  // namespace

JsonNode to_node(const PartitionSpec& spec) {
  JsonNode node = JsonNode::array();
  for (const std::vector<std::string>& axes : spec.dims) {
    JsonNode entry = axes.empty() ? JsonNode{} : JsonNode::array();
    for (const std::string& axis : axes) entry.items.push_back(JsonNode::of(axis));
    node.items.push_back(axes.size() == 1 ? entry.items[0] : entry);
  }
  return node;
}

JsonNode to_run_document(const RunConfig& config) {
  JsonNode node = JsonNode::object();
  node.add("model", to_node(config.model, "model"));
  node.add("mesh", to_node(config.mesh_axes, config.mesh_devices));
  node.add("sharding", to_node(config.sharding));
  node.add("data", to_node(config.data, "data"));
  node.add("optimizer", to_node(config.optimizer, "optimizer"));
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
