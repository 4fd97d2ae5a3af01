#pragma once

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

namespace shardscope::test {

using nlohmann::json;

inline bool has_type(const json& value, const std::string& type) {
  if (type == "integer") return value.is_number_integer();
  if (type == "number") return value.is_number();
  if (type == "boolean") return value.is_boolean();
  if (type == "string") return value.is_string();
  if (type == "array") return value.is_array();
  if (type == "object") return value.is_object();
  return type == "null" && value.is_null();
}

// Whether a value is as a rule of a schema says. The keywords of JSON Schema that ours use; one that is not known here
// fails the test.
inline bool accepts(const json& schema, const json& rule, const json& value) {
  static const std::set<std::string> silent = {"$schema", "title", "description", "default", "$defs"};
  if (rule.is_boolean()) return rule.get<bool>();
  for (const auto& [keyword, argument] : rule.items()) {
    bool good = true;
    if (keyword == "$ref") {
      good = accepts(schema, schema.at(json::json_pointer(argument.get<std::string>().substr(1))), value);
    } else if (keyword == "type") {
      const json types = argument.is_array() ? argument : json::array({argument});
      good = std::any_of(types.begin(), types.end(), [&](const json& type) { return has_type(value, type); });
    } else if (keyword == "enum") {
      good = std::find(argument.begin(), argument.end(), value) != argument.end();
    } else if (keyword == "anyOf") {
      good =
          std::any_of(argument.begin(), argument.end(), [&](const json& one) { return accepts(schema, one, value); });
    } else if (keyword == "minimum") {
      good = !value.is_number() || value >= argument;
    } else if (keyword == "maximum") {
      good = !value.is_number() || value <= argument;
    } else if (keyword == "minLength") {
      good = !value.is_string() || value.get<std::string>().size() >= argument.get<size_t>();
    } else if (keyword == "minItems") {
      good = !value.is_array() || value.size() >= argument.get<size_t>();
    } else if (keyword == "minProperties") {
      good = !value.is_object() || value.size() >= argument.get<size_t>();
    } else if (keyword == "maxItems") {
      good = !value.is_array() || value.size() <= argument.get<size_t>();
    } else if (keyword == "uniqueItems") {
      good = !value.is_array() || std::set<json>(value.begin(), value.end()).size() == value.size();
    } else if (keyword == "items") {
      good = !value.is_array() ||
             std::all_of(value.begin(), value.end(), [&](const json& item) { return accepts(schema, argument, item); });
    } else if (keyword == "required") {
      for (const json& key : argument) good &= !value.is_object() || value.contains(key.get<std::string>());
    } else if (keyword == "propertyNames") {
      for (const auto& member : value.items()) good &= !value.is_object() || accepts(schema, argument, member.key());
    } else if (keyword == "properties") {
      for (const auto& [key, inner] : argument.items()) {
        good &= !value.is_object() || !value.contains(key) || accepts(schema, inner, value.at(key));
      }
    } else if (keyword == "additionalProperties") {
      const json named = rule.value("properties", json::object());
      for (const auto& member : value.items()) {
        good &= !value.is_object() || named.contains(member.key()) || accepts(schema, argument, member.value());
      }
    } else if (!silent.contains(keyword)) {
      throw std::runtime_error("a keyword that this test does not know: " + keyword);
    }
    if (!good) return false;
  }
  return true;
}

// All places of a document.
inline void collect(const json& value, const json::json_pointer& place, std::vector<json::json_pointer>& places) {
  places.push_back(place);
  if (value.is_object()) {
    for (const auto& [key, inner] : value.items()) collect(inner, place / key, places);
  } else if (value.is_array()) {
    for (size_t i = 0; i < value.size(); ++i) collect(value[i], place / i, places);
  }
}

}  // namespace shardscope::test
