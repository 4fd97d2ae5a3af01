#pragma once

#include <fmt/format.h>

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/config/fault_list.h"
#include "engine/config/place.h"

namespace shardscope {

// How values of a C++ type are read from JSON, written, and described by a JSON Schema. `read` reports what is wrong
// and gives nothing where the value as a whole is of the wrong kind. An object is a table of its keys:
//
//   struct Cache { std::string name; double rate = 1; };
//   const JsonType<Cache> cache = ObjectKeys<Cache>("A cache.")
//                                     .required("name", &Cache::name, text(), "For people.")
//                                     .optional("rate", &Cache::rate, number(1, 9), "B/s.")
//                                     .type();
template <class T>
struct JsonType {
  std::function<std::optional<T>(const JsonNode&, const std::string& place, FaultList&)> read;
  std::function<JsonNode(const T&)> write;
  JsonNode schema;
};

using JsonMembers = std::vector<std::pair<std::string, JsonNode>>;
JsonNode json_object(JsonMembers members);
JsonNode json_list(const std::vector<std::string>& texts);

JsonType<std::string> text();
JsonType<std::string> text_of_some_length();
JsonType<bool> flag();
JsonType<double> number(double low, double high);

template <class Integer>
JsonType<Integer> integer(Integer low, Integer high) {
  return {[=](const JsonNode& node, const std::string& place, FaultList& faults) -> std::optional<Integer> {
            const auto value = faults.integer(node, place, low, high);
            return value ? std::optional(static_cast<Integer>(*value)) : std::nullopt;
          },
          [](Integer value) { return JsonNode::of(int64_t{value}); },
          json_object({{"type", JsonNode::of("integer")},
                       {"minimum", JsonNode::of(int64_t{low})},
                       {"maximum", JsonNode::of(int64_t{high})}})};
}

// Texts that stand for values.
template <class T>
using Choices = std::vector<std::pair<std::string, T>>;

template <class T>
std::vector<std::string> names_of(const Choices<T>& choices) {
  std::vector<std::string> names;
  for (const auto& choice : choices) names.push_back(choice.first);
  return names;
}

template <class T>
JsonType<T> choice(Choices<T> choices) {
  const std::vector<std::string> names = names_of(choices);
  return {[=](const JsonNode& node, const std::string& place, FaultList& faults) -> std::optional<T> {
            if (!faults.expect(node, place, JsonNode::Kind::string, "a string", name_hint("", names))) return {};
            for (const auto& [name, value] : choices) {
              if (name == node.text) return value;
            }
            faults.fail(node.line, place, "unknown_choice", fmt::format("unknown choice '{}'", node.text),
                        name_hint(node.text, names));
            return {};
          },
          [=](const T& value) {
            for (const auto& [name, chosen] : choices) {
              if (chosen == value) return JsonNode::of(name);
            }
            return JsonNode();
          },
          json_object({{"enum", json_list(names)}})};
}

// Either type; `is_first` tells which one a JSON value, and which one a C++ value, is of.
template <class T>
JsonType<T> either(JsonType<T> first, JsonType<T> second, JsonNode::Kind first_kind,
                   std::function<bool(const T&)> is_first) {
  JsonNode schemas = JsonNode::array();
  schemas.items = {first.schema, second.schema};
  return {[=](const JsonNode& node, const std::string& place, FaultList& faults) {
            return (node.is(first_kind) ? first : second).read(node, place, faults);
          },
          [=](const T& value) { return (is_first(value) ? first : second).write(value); },
          json_object({{"anyOf", schemas}})};
}

template <class T>
JsonType<std::vector<T>> list_of(JsonType<T> item, size_t least = 0) {
  JsonMembers schema = {{"type", JsonNode::of("array")}, {"items", item.schema}};
  if (least > 0) schema.emplace_back("minItems", JsonNode::of(static_cast<int64_t>(least)));
  return {[=](const JsonNode& node, const std::string& place, FaultList& faults) -> std::optional<std::vector<T>> {
            if (!faults.expect(node, place, JsonNode::Kind::array, "a list")) return {};
            if (node.items.size() < least) {
              faults.fail(node.line, place, "too_few", fmt::format("{} of at least {}", node.items.size(), least));
            }
            std::vector<T> values;
            for (size_t i = 0; i < node.items.size(); ++i) {
              if (auto value = item.read(node.items[i], element_place(place, i), faults)) values.push_back(*value);
            }
            return values;
          },
          [=](const std::vector<T>& values) {
            JsonNode node = JsonNode::array();
            for (const T& value : values) node.items.push_back(item.write(value));
            return node;
          },
          json_object(std::move(schema))};
}

// An object whose keys are names of the caller's choice, or some of `choices`; those in `required` must be there.
template <class Key, class T>
JsonType<std::map<Key, T, std::less<>>> map_of(JsonType<Key> key, JsonType<T> item,
                                               std::vector<std::string> required = {}) {
  JsonMembers schema = {
      {"type", JsonNode::of("object")}, {"propertyNames", key.schema}, {"additionalProperties", item.schema}};
  if (!required.empty()) schema.emplace_back("required", json_list(required));
  return {[=](const JsonNode& node, const std::string& place,
              FaultList& faults) -> std::optional<std::map<Key, T, std::less<>>> {
            if (!faults.expect(node, place, JsonNode::Kind::object, "an object")) return {};
            std::map<Key, T, std::less<>> values;
            for (size_t i = 0; i < node.items.size(); ++i) {
              const std::string member = member_place(place, node.keys[i]);
              JsonNode name = JsonNode::of(node.keys[i]);
              name.line = node.items[i].line;
              const auto known = key.read(name, member, faults);
              auto value = known ? item.read(node.items[i], member, faults) : std::nullopt;
              if (value) values.emplace(*known, std::move(*value));
            }
            for (const std::string& name : required) {
              if (node.find(name)) continue;
              faults.fail(node.line, member_place(place, name), "missing_key", fmt::format("'{}' is missing", name));
            }
            return values;
          },
          [=](const std::map<Key, T, std::less<>>& values) {
            JsonNode node = JsonNode::object();
            for (const auto& [name, value] : values) node.add(key.write(name).text, item.write(value));
            return node;
          },
          json_object(std::move(schema))};
}

// The keys of an object that stands for an Owner, in the order in which they are written. A last one is "source".
template <class Owner>
class ObjectKeys {
 public:
  using Check = std::function<void(const Owner&, const JsonNode&, const std::string& place, FaultList&)>;

  explicit ObjectKeys(std::string help) : help_(std::move(help)) {}

  template <class T>
  ObjectKeys& required(std::string key, T Owner::*member, JsonType<T> type, std::string help) {
    return add(std::move(key), member, std::move(type), std::move(help), true);
  }
  // Its default is that of a new Owner; a value that equals it is not written.
  template <class T>
  ObjectKeys& optional(std::string key, T Owner::*member, JsonType<T> type, std::string help) {
    return add(std::move(key), member, std::move(type), std::move(help), false);
  }
  // What no single key can say, asked where the object had no fault so far.
  ObjectKeys& check(Check check) {
    check_ = std::move(check);
    return *this;
  }

  JsonType<Owner> type() {
    optional("source", &Owner::source, text(), "Where the numbers are from, and when.");
    run_file::Keys names;
    JsonMembers properties;
    std::vector<std::string> necessary;
    for (const Field& field : fields_) {
      names.push_back({field.key, field.required, "..."});
      properties.emplace_back(field.key, field.schema);
      if (field.required) necessary.push_back(field.key);
    }
    return {[fields = fields_, names, check = check_](const JsonNode& node, const std::string& place,
                                                      FaultList& faults) -> std::optional<Owner> {
              if (!faults.expect(node, place, JsonNode::Kind::object, "an object")) return {};
              const size_t before = faults.count();
              Owner owner;
              faults.check_keys(node, place, names);
              for (const Field& field : fields) {
                if (const JsonNode* value = node.find(field.key)) {
                  field.read(*value, member_place(place, field.key), owner, faults);
                }
              }
              if (check && faults.count() == before) check(owner, node, place, faults);
              return owner;
            },
            [fields = fields_](const Owner& owner) {
              JsonNode node = JsonNode::object();
              for (const Field& field : fields) {
                if (field.required || !field.is_default(owner)) node.add(field.key, field.write(owner));
              }
              return node;
            },
            json_object({{"description", JsonNode::of(help_)},
                         {"type", JsonNode::of("object")},
                         {"required", json_list(necessary)},
                         {"additionalProperties", JsonNode::of(false)},
                         {"properties", json_object(std::move(properties))}})};
  }

 private:
  struct Field {
    std::string key;
    bool required;
    std::function<void(const JsonNode&, const std::string&, Owner&, FaultList&)> read;
    std::function<JsonNode(const Owner&)> write;
    std::function<bool(const Owner&)> is_default;
    JsonNode schema;
  };

  template <class T>
  ObjectKeys& add(std::string key, T Owner::*member, JsonType<T> type, std::string help, bool required) {
    JsonMembers schema = {{"description", JsonNode::of(std::move(help))}};
    for (size_t i = 0; i < type.schema.keys.size(); ++i) {
      if (type.schema.keys[i] != "description") schema.emplace_back(type.schema.keys[i], type.schema.items[i]);
    }
    const JsonNode standard = type.write(Owner().*member);
    const bool is_plain = !standard.is(JsonNode::Kind::array) && !standard.is(JsonNode::Kind::object);
    if (!required && is_plain && !standard.is(JsonNode::Kind::null)) schema.emplace_back("default", standard);
    fields_.push_back({std::move(key), required,
                       [=](const JsonNode& node, const std::string& place, Owner& owner, FaultList& faults) {
                         if (auto value = type.read(node, place, faults)) owner.*member = std::move(*value);
                       },
                       [=](const Owner& owner) { return type.write(owner.*member); },
                       [=](const Owner& owner) { return owner.*member == Owner().*member; },
                       json_object(std::move(schema))});
    return *this;
  }

  std::string help_;
  std::vector<Field> fields_;
  Check check_;
};

}  // namespace shardscope
