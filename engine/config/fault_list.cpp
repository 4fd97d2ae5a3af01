#include "engine/config/fault_list.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "engine/base/meant_name.h"
#include "engine/config/place.h"

namespace shardscope {

using Kind = JsonNode::Kind;

void FaultList::fail(int line, const std::string& path, std::string code, std::string message, std::string hint) {
  Place place = file_name_.empty() ? Place(path) : in_file(file_name_, line, 0, path);
  errors_.push_back({std::move(code), std::move(message), std::move(place), std::move(hint)});
}

bool FaultList::expect(const JsonNode& node, const std::string& path, Kind kind, const char* expected,
                       std::string hint) {
  if (node.is(kind)) return true;
  fail(node.line, path, "wrong_type", fmt::format("expected {}, got {}", expected, describe(node)), std::move(hint));
  return false;
}

std::optional<int64_t> FaultList::integer(const JsonNode& node, const std::string& path, int64_t low, int64_t high) {
  const bool digits_only = node.text.find_first_of(".eE") == std::string::npos;
  const bool too_big = node.is(Kind::number) && !node.text.empty() && digits_only;
  if (!too_big && !expect(node, path, Kind::integer, "an integer")) return std::nullopt;
  if (!too_big && node.integer >= low && node.integer <= high) return node.integer;
  fail(node.line, path, "out_of_range", fmt::format("{} is out of range", describe(node)),
       fmt::format("{} to {}", low, high));
  return std::nullopt;
}

void FaultList::check_keys(const JsonNode& node, const std::string& path, const run_file::Keys& keys) {
  const std::vector<std::string> names = run_file::names(keys);
  std::unordered_set<std::string> meant;
  for (size_t i = 0; i < node.keys.size(); ++i) {
    if (*meant.insert(meant_name(node.keys[i], names, node.keys)).first == node.keys[i]) continue;
    fail(node.items[i].line, member_place(path, node.keys[i]), "unknown_key",
         fmt::format("unknown key '{}'", node.keys[i]), name_hint(node.keys[i], names));
  }
  for (const run_file::Key& key : keys) {
    if (!key.required || meant.contains(key.name)) continue;
    fail(node.line, member_place(path, key.name), "missing_key", fmt::format("'{}' is missing", key.name),
         fmt::format("such as \"{}\": {}", key.name, key.example));
  }
}

void FaultList::check_repeated_keys(const JsonNode& node, const std::string& path) {
  std::unordered_map<std::string_view, int> first_lines;
  for (size_t i = 0; i < node.items.size(); ++i) {
    const JsonNode& item = node.items[i];
    auto place = [&] { return node.is(Kind::object) ? member_place(path, node.keys[i]) : element_place(path, i); };
    if (node.is(Kind::object)) {
      const auto [first, is_first] = first_lines.emplace(node.keys[i], item.line);
      if (!is_first) {
        fail(item.line, place(), "duplicate_key", fmt::format("'{}' is given twice", node.keys[i]),
             fmt::format("first on line {}; keep one of them", first->second));
      }
    }
    if (!item.items.empty()) check_repeated_keys(item, place());
  }
}

const JsonNode* find_meant(const JsonNode& object, const std::string& key, const std::vector<std::string>& names) {
  if (const JsonNode* found = object.find(key)) return found;
  for (size_t i = 0; i < object.keys.size(); ++i)
    if (meant_name(object.keys[i], names, object.keys) == key) return &object.items[i];
  return nullptr;
}

}  // namespace shardscope
