#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>

#include "engine/config/json_document.h"

namespace shardscope {
namespace {

using Kind = JsonNode::Kind;
constexpr size_t line_width = 100;

bool is_plain(const JsonNode& node) { return !node.is(Kind::array) && !node.is(Kind::object); }

bool holds_objects(const JsonNode& node) {
  return node.is(Kind::object) || std::any_of(node.items.begin(), node.items.end(), holds_objects);
}

// Whether the node may stand on one line, if it is short enough.
bool is_simple(const JsonNode& node) {
  if (node.is(Kind::object)) return std::all_of(node.items.begin(), node.items.end(), is_plain);
  return std::all_of(node.items.begin(), node.items.end(), is_simple);
}

// The shortest digits that read back as the same double; never the form of an integer.
std::string number_text(double value) {
  if (!std::isfinite(value)) {
    throw Failure(Error{"not_finite", fmt::format("{} cannot be written in JSON", value), "", "use a finite number"});
  }
  char digits[32];
  std::string text(digits, std::to_chars(digits, digits + sizeof digits, value).ptr);
  return text.find_first_of(".e") == std::string::npos ? text + ".0" : text;
}

void require_different_keys(const JsonNode& node) {
  std::vector<std::string> keys = node.keys;
  std::sort(keys.begin(), keys.end());
  if (auto twice = std::adjacent_find(keys.begin(), keys.end()); twice != keys.end()) {
    throw Failure(Error{"duplicate_key", fmt::format("two members are named '{}'", *twice), "", "names must differ"});
  }
  for (const JsonNode& item : node.items) require_different_keys(item);
}

void print(const JsonNode& node, size_t indent, size_t column, bool in_array, std::string& text) {
  if (node.items.empty() || is_simple(node) || in_array) {
    const std::string line = print_json_line(node);
    if (node.items.empty() || !holds_objects(node) || column + line.size() <= line_width) {
      text += line;
      return;
    }
  }
  const bool object = node.is(Kind::object);
  const std::string inner(indent + 2, ' ');
  text += object ? "{\n" : "[\n";
  for (size_t i = 0; i < node.items.size(); ++i) {
    const std::string key = object ? quoted(node.keys[i]) + ": " : "";
    text += inner + key;
    print(node.items[i], indent + 2, inner.size() + key.size(), !object, text);
    text += i + 1 < node.items.size() ? ",\n" : "\n";
  }
  text += std::string(indent, ' ') + (object ? "}" : "]");
}

}  // namespace

std::string print_json_line(const JsonNode& node) {
  switch (node.kind) {
    case Kind::null: return "null";
    case Kind::boolean: return node.boolean ? "true" : "false";
    case Kind::integer: return std::to_string(node.integer);
    case Kind::number: return number_text(node.number);
    case Kind::string: return quoted(node.text);
    case Kind::array:
    case Kind::object: break;
  }
  const bool object = node.is(Kind::object);
  std::string text;
  for (size_t i = 0; i < node.items.size(); ++i) {
    if (i > 0) text += ", ";
    if (object) text += quoted(node.keys[i]) + ": ";
    text += print_json_line(node.items[i]);
  }
  return object ? "{" + text + "}" : "[" + text + "]";
}

std::string quoted(const std::string& text) {
  try {
    return nlohmann::json(text).dump();
  } catch (const nlohmann::json::exception&) {
    throw Failure(Error{"not_utf8", "a text is not UTF-8", "", "JSON text is UTF-8"});
  }
}

std::string print_json(const JsonNode& document) {
  require_different_keys(document);
  std::string text;
  print(document, 0, 0, false, text);
  return text + "\n";
}

std::string describe(const JsonNode& node) {
  if (node.is(Kind::array)) return "an array";
  if (node.is(Kind::object)) return "an object";
  if (node.is(Kind::number) && !node.text.empty()) return node.text;
  const std::string text = print_json_line(node);
  return text.size() <= 60 ? text : text.substr(0, 40) + "...\"";
}

}  // namespace shardscope
