#include "engine/config/json_document.h"

#include <algorithm>

namespace shardscope {

JsonNode JsonNode::with_kind(Kind kind) {
  JsonNode node;
  node.kind = kind;
  return node;
}

JsonNode JsonNode::of(bool value) {
  JsonNode node = with_kind(Kind::boolean);
  node.boolean = value;
  return node;
}

JsonNode JsonNode::of(int64_t value) {
  JsonNode node = with_kind(Kind::integer);
  node.integer = value;
  return node;
}

JsonNode JsonNode::of(double value) {
  JsonNode node = with_kind(Kind::number);
  node.number = value;
  return node;
}

JsonNode JsonNode::of(std::string value) {
  JsonNode node = with_kind(Kind::string);
  node.text = std::move(value);
  return node;
}

const JsonNode* JsonNode::find(std::string_view key) const {
  auto at = std::find(keys.begin(), keys.end(), key);
  return at == keys.end() ? nullptr : &items[static_cast<size_t>(at - keys.begin())];
}

JsonNode* JsonNode::find(std::string_view key) {
  return const_cast<JsonNode*>(static_cast<const JsonNode*>(this)->find(key));
}

JsonNode& JsonNode::add(std::string key, JsonNode value) {
  keys.push_back(std::move(key));
  items.push_back(std::move(value));
  return items.back();
}

void JsonNode::remove(std::string_view key) {
  const auto at = std::find(keys.begin(), keys.end(), key);
  if (at == keys.end()) return;
  items.erase(items.begin() + (at - keys.begin()));
  keys.erase(at);
}

}  // namespace shardscope
