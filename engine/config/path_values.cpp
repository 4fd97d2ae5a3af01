#include "engine/config/path_values.h"

#include <algorithm>

#include "engine/config/place.h"

namespace shardscope {
namespace {

using Kind = JsonNode::Kind;

std::string value_text(const JsonNode& node) {
  try {
    return print_json_line(node);
  } catch (const Failure& failure) {
    return failure.errors().front().message;
  }
}

void add_values(const JsonNode& node, const std::string& path, std::vector<PathValue>& values) {
  const bool is_object = node.is(Kind::object);
  const bool holds_objects =
      std::ranges::any_of(node.items, [](const JsonNode& item) { return item.is(Kind::object); });
  if (!is_object && !holds_objects) return values.push_back({path, value_text(node)});
  for (size_t i = 0; i < node.items.size(); ++i)
    add_values(node.items[i], is_object ? member_place(path, node.keys[i]) : element_place(path, i), values);
}

}  // namespace

std::vector<PathValue> path_values(const JsonNode& document) {
  std::vector<PathValue> values;
  add_values(document, "", values);
  return values;
}

}  // namespace shardscope
