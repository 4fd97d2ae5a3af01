#include "tests/fuzz/json_node.h"

#include <nlohmann/json.hpp>

namespace shardscope::fuzz {

namespace {

JsonNode node_of(const nlohmann::ordered_json& json) {
  if (!json.is_structured()) return scalar(json.dump());
  JsonNode node;
  node.kind = json.is_array() ? JsonNode::Kind::array : JsonNode::Kind::object;
  for (const auto& [key, value] : json.items()) {
    if (json.is_object()) node.keys.push_back(nlohmann::ordered_json(key).dump());
    node.children.push_back(node_of(value));
  }
  return node;
}

void print(const JsonNode& node, std::string& text) {
  if (node.kind == JsonNode::Kind::scalar) {
    text += node.text;
    return;
  }
  const bool object = node.kind == JsonNode::Kind::object;
  text += object ? '{' : '[';
  for (size_t i = 0; i < node.children.size(); ++i) {
    if (i > 0) text += ", ";
    if (object) text += node.keys[i] + ": ";
    print(node.children[i], text);
  }
  text += object ? '}' : ']';
}

void collect(JsonNode& node, std::vector<JsonNode*>& nodes) {
  nodes.push_back(&node);
  for (JsonNode& child : node.children) collect(child, nodes);
}

}  // namespace

JsonNode scalar(std::string text) {
  JsonNode node;
  node.text = std::move(text);
  return node;
}

std::optional<JsonNode> parse_json(std::string_view text) {
  const auto json = nlohmann::ordered_json::parse(text, nullptr, false);
  if (json.is_discarded()) return std::nullopt;
  return node_of(json);
}

std::string print_json(const JsonNode& node) {
  std::string text;
  print(node, text);
  return text;
}

std::vector<JsonNode*> all_nodes(JsonNode& node) {
  std::vector<JsonNode*> nodes;
  collect(node, nodes);
  return nodes;
}

}  // namespace shardscope::fuzz
