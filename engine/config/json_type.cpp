#include "engine/config/json_type.h"

namespace shardscope {

using Kind = JsonNode::Kind;

JsonNode json_object(JsonMembers members) {
  JsonNode node = JsonNode::object();
  for (auto& [key, value] : members) node.add(key, std::move(value));
  return node;
}

JsonNode json_list(const std::vector<std::string>& texts) {
  JsonNode node = JsonNode::array();
  for (const std::string& text : texts) node.items.push_back(JsonNode::of(text));
  return node;
}

JsonNode any_of(std::vector<JsonNode> schemas) {
  JsonNode list = JsonNode::array();
  list.items = std::move(schemas);
  return json_object({{"anyOf", std::move(list)}});
}

JsonNode with_help(std::string help, const JsonNode& schema) {
  if (help.empty()) return schema;
  JsonNode result = json_object({{"description", JsonNode::of(std::move(help))}});
  for (size_t i = 0; i < schema.keys.size(); ++i)
    if (schema.keys[i] != "description") result.add(schema.keys[i], schema.items[i]);
  return result;
}

const JsonNode& object_schema(const JsonNode& schema) {
  if (const JsonNode* any = schema.find("anyOf"))
    for (const JsonNode& one : any->items)
      if (one.find("properties")) return one;
  return schema;
}

std::vector<std::string> keys_of(const JsonNode& schema) {
  const JsonNode* properties = object_schema(schema).find("properties");
  return properties ? properties->keys : std::vector<std::string>();
}

JsonType<std::string> text(const char* expected, const std::string& hint, const std::vector<std::string>& known) {
  return {[=](const JsonNode& node, const std::string& place, FaultList& faults) -> std::optional<std::string> {
            if (!faults.expect(node, place, Kind::string, expected, hint)) return {};
            return node.text;
          },
          [](const std::string& value) { return JsonNode::of(value); },
          known.empty() ? json_object({{"type", JsonNode::of("string")}}) : json_object({{"enum", json_list(known)}})};
}

JsonType<std::string> text_of_some_length() {
  return {[](const JsonNode& node, const std::string& place, FaultList& faults) -> std::optional<std::string> {
            const auto value = text().read(node, place, faults);
            if (value && value->empty()) faults.fail(node.line, place, "empty_text", "it is empty", "a name");
            return value;
          },
          text().write, json_object({{"type", JsonNode::of("string")}, {"minLength", JsonNode::of(int64_t{1})}})};
}

JsonType<bool> flag() {
  return {[](const JsonNode& node, const std::string& place, FaultList& faults) -> std::optional<bool> {
            if (!faults.expect(node, place, Kind::boolean, "true or false")) return {};
            return node.boolean;
          },
          [](bool value) { return JsonNode::of(value); }, json_object({{"type", JsonNode::of("boolean")}})};
}

JsonType<double> number(double low, double high) {
  return {
      [=](const JsonNode& node, const std::string& place, FaultList& faults) -> std::optional<double> {
        if (!node.is(Kind::integer) && !faults.expect(node, place, Kind::number, "a number")) return {};
        const double value = node.is(Kind::integer) ? static_cast<double>(node.integer) : node.number;
        if (value >= low && value <= high) return value;
        faults.fail(node.line, place, "out_of_range", fmt::format("{} is out of range", describe(node)),
                    fmt::format("{} to {}", low, high));
        return {};
      },
      [](double value) { return JsonNode::of(value); },
      json_object({{"type", JsonNode::of("number")}, {"minimum", JsonNode::of(low)}, {"maximum", JsonNode::of(high)}})};
}

}  // namespace shardscope
