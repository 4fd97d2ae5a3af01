#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
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
  // Of an object: also with the keys that are at their defaults, where these can be written.
  std::function<JsonNode(const T&)> write_all = {};

  JsonNode written(const T& value, bool all) const { return (all && write_all ? write_all : write)(value); }
};

// For closures, which are copied with the types that they are part of: a table of tables would be copied as often as
// its depth has levels, each time for each of its closures.
template <class T>
std::shared_ptr<const JsonType<T>> shared(JsonType<T> type) {
  return std::make_shared<const JsonType<T>>(std::move(type));
}

using JsonMembers = std::vector<std::pair<std::string, JsonNode>>;
JsonNode json_object(JsonMembers members);
JsonNode json_list(const std::vector<std::string>& texts);
JsonNode any_of(std::vector<JsonNode> schemas);

// A schema with this description, or with its own where it is empty.
JsonNode with_help(std::string help, const JsonNode& schema);
// Of a schema: the one of the object with keys that a value may be, itself or one of "anyOf"; and these keys.
const JsonNode& object_schema(const JsonNode& schema);
std::vector<std::string> keys_of(const JsonNode& schema);

// `expected` and `hint` are for what is no text; `known`: what the schema lists, where others are judged elsewhere.
JsonType<std::string> text(const char* expected = "a text", const std::string& hint = {},
                           const std::vector<std::string>& known = {});
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

// `what` they are, for errors: a "mode" that is none of them is an unknown_mode. Of two texts for one value the first
// is written, and the one that hints name.
template <class T>
JsonType<T> choice(Choices<T> choices, const std::string& what = "choice") {
  std::vector<std::string> names;
  for (size_t i = 0; i < choices.size(); ++i) {
    const auto is_same = [&](const auto& other) { return other.second == choices[i].second; };
    if (std::find_if(choices.begin(), choices.end(), is_same) - choices.begin() == static_cast<std::ptrdiff_t>(i))
      names.push_back(choices[i].first);
  }
  const bool begins_by_vowel = std::string_view("aeiou").find(what[0]) != std::string_view::npos;
  const std::string expected = (begins_by_vowel ? "an " : "a ") + what;
  const std::string known = fmt::format("known: {}", fmt::join(names, ", "));
  return {[=](const JsonNode& node, const std::string& place, FaultList& faults) -> std::optional<T> {
            if (!faults.expect(node, place, JsonNode::Kind::string, expected.c_str(), known)) return {};
            for (const auto& [name, value] : choices) {
              if (name == node.text) return value;
            }
            faults.fail(node.line, place, "unknown_" + what, fmt::format("unknown {} '{}'", what, node.text),
                        name_hint(node.text, names));
            return {};
          },
          [=](const T& value) {
            for (const auto& [name, chosen] : choices) {
              if (chosen == value) return JsonNode::of(name);
            }
            return JsonNode();
          },
          json_object({{"enum", json_list(names_of(choices))}})};
}

// Either type; `is_first` tells which one a JSON value, and which one a C++ value, is of.
template <class T>
JsonType<T> either(JsonType<T> one, JsonType<T> other, JsonNode::Kind first_kind,
                   std::function<bool(const T&)> is_first) {
  JsonNode schema = any_of({one.schema, other.schema});
  const auto first = shared(std::move(one)), second = shared(std::move(other));
  return {[=](const JsonNode& node, const std::string& place, FaultList& faults) {
            return (node.is(first_kind) ? first : second)->read(node, place, faults);
          },
          [=](const T& value) { return (is_first(value) ? first : second)->write(value); }, std::move(schema),
          [=](const T& value) { return (is_first(value) ? first : second)->written(value, true); }};
}

// A value that may be missing, and is then not written.
template <class T>
JsonType<std::optional<T>> optional_of(JsonType<T> of) {
  const auto type = shared(std::move(of));
  const auto write = [=](const std::optional<T>& value, bool all) {
    return value ? type->written(*value, all) : JsonNode();
  };
  return {[=](const JsonNode& node, const std::string& place, FaultList& faults) -> std::optional<std::optional<T>> {
            return type->read(node, place, faults);
          },
          [=](const std::optional<T>& value) { return write(value, false); }, type->schema,
          [=](const std::optional<T>& value) { return write(value, true); }};
}

// What only one member of an Owner says.
template <class Owner, class T>
JsonType<Owner> only(T Owner::*member, JsonType<T> of) {
  const auto type = shared(std::move(of));
  return {[=](const JsonNode& node, const std::string& place, FaultList& faults) -> std::optional<Owner> {
            auto value = type->read(node, place, faults);
            if (!value) return {};
            Owner owner;
            owner.*member = std::move(*value);
            return owner;
          },
          [=](const Owner& owner) { return type->write(owner.*member); }, type->schema};
}

template <class T>
JsonType<std::vector<T>> list_of(JsonType<T> of, size_t least = 0, const char* expected = "a list",
                                 const std::string& hint = {}) {
  const auto item = shared(std::move(of));
  JsonMembers schema = {{"type", JsonNode::of("array")}, {"items", item->schema}};
  if (least > 0) schema.emplace_back("minItems", JsonNode::of(static_cast<int64_t>(least)));
  return {[=](const JsonNode& node, const std::string& place, FaultList& faults) -> std::optional<std::vector<T>> {
            if (!faults.expect(node, place, JsonNode::Kind::array, expected, hint)) return {};
            if (node.items.size() < least) {
              faults.fail(node.line, place, "too_few", fmt::format("{} of at least {}", node.items.size(), least));
            }
            std::vector<T> values;
            for (size_t i = 0; i < node.items.size(); ++i) {
              values.push_back(item->read(node.items[i], element_place(place, i), faults).value_or(T()));
            }
            return values;
          },
          [=](const std::vector<T>& values) {
            JsonNode node = JsonNode::array();
            for (const T& value : values) node.items.push_back(item->write(value));
            return node;
          },
          json_object(std::move(schema))};
}

// An object whose keys are names of the caller's choice, or some of `choices`; those in `required` must be there.
template <class Key, class T>
JsonType<std::map<Key, T, std::less<>>> map_of(JsonType<Key> of_key, JsonType<T> of,
                                               std::vector<std::string> required = {}) {
  const auto key = shared(std::move(of_key));
  const auto item = shared(std::move(of));
  JsonMembers schema = {
      {"type", JsonNode::of("object")}, {"propertyNames", key->schema}, {"additionalProperties", item->schema}};
  if (!required.empty()) schema.emplace_back("required", json_list(required));
  return {[=](const JsonNode& node, const std::string& place,
              FaultList& faults) -> std::optional<std::map<Key, T, std::less<>>> {
            if (!faults.expect(node, place, JsonNode::Kind::object, "an object")) return {};
            std::map<Key, T, std::less<>> values;
            for (size_t i = 0; i < node.items.size(); ++i) {
              const std::string member = member_place(place, node.keys[i]);
              JsonNode name = JsonNode::of(node.keys[i]);
              name.line = node.items[i].line;
              const auto known = key->read(name, member, faults);
              auto value = known ? item->read(node.items[i], member, faults) : std::nullopt;
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
            for (const auto& [name, value] : values) node.add(key->write(name).text, item->write(value));
            return node;
          },
          json_object(std::move(schema))};
}

// An object whose keys are names of the caller's choice, in the order of the file: a list of entries that have a name
// and a value. A name that is given twice is another's fault.
template <class Entry, class T>
JsonType<std::vector<Entry>> entries_of(std::string Entry::*name, T Entry::*value, JsonType<T> of, const char* expected,
                                        const std::string& hint) {
  const auto item = shared(std::move(of));
  return {[=](const JsonNode& node, const std::string& place, FaultList& faults) -> std::optional<std::vector<Entry>> {
            if (!faults.expect(node, place, JsonNode::Kind::object, expected, hint)) return {};
            std::vector<Entry> entries;
            for (size_t i = 0; i < node.items.size(); ++i) {
              const JsonNode& member = node.items[i];
              if (node.find(node.keys[i]) != &member) continue;
              const std::string its_place = member_place(place, node.keys[i]);
              if (node.keys[i].empty()) faults.fail(member.line, its_place, "empty_name", "the name is empty");
              auto read = item->read(member, its_place, faults);
              if (!read) continue;
              Entry& entry = entries.emplace_back();
              entry.*name = node.keys[i];
              entry.*value = std::move(*read);
            }
            return entries;
          },
          [=](const std::vector<Entry>& entries) {
            JsonNode node = JsonNode::object();
            for (const Entry& entry : entries) node.add(entry.*name, item->write(entry.*value));
            return node;
          },
          json_object({{"type", JsonNode::of("object")},
                       {"propertyNames", json_object({{"minLength", JsonNode::of(int64_t{1})}})},
                       {"additionalProperties", item->schema}})};
}

// The keys of an object that stands for an Owner, in the order in which they are written; "source" is the last one of
// an Owner that has one. `hint`: what such an object looks like.
template <class Owner>
class ObjectKeys {
 public:
  using Check = std::function<void(const Owner&, const JsonNode&, const std::string& place, FaultList&)>;

  explicit ObjectKeys(std::string help, std::string hint = {}) : help_(std::move(help)), hint_(std::move(hint)) {}

  // `example` of its value, as JSON, is for the hint where it is missing.
  template <class T>
  ObjectKeys& required(std::string key, T Owner::*member, JsonType<T> type, std::string help,
                       std::string example = "...") {
    return add(std::move(key), member, std::move(type), std::move(help), true, true, std::move(example));
  }
  // Need not be there, and is always written.
  template <class T>
  ObjectKeys& written(std::string key, T Owner::*member, JsonType<T> type, std::string help) {
    return add(std::move(key), member, std::move(type), std::move(help), false, true);
  }
  // Its default is that of a new Owner; a value that equals it is not written.
  template <class T>
  ObjectKeys& optional(std::string key, T Owner::*member, JsonType<T> type, std::string help) {
    return add(std::move(key), member, std::move(type), std::move(help), false, false);
  }
  // A key that is read, and not kept.
  template <class T>
  ObjectKeys& unkept(std::string key, JsonType<T> of, std::string help) {
    const auto type = shared(std::move(of));
    fields_.push_back({std::move(key),
                       false,
                       false,
                       {},
                       [=](const JsonNode& node, const std::string& place, Owner&, FaultList& faults) {
                         return type->read(node, place, faults).has_value();
                       },
                       [](const Owner&, bool) { return JsonNode(); },
                       [](const Owner&) { return true; },
                       with_help(std::move(help), type->schema)});
    return *this;
  }
  // An object of its own whose keys are of the same Owner.
  ObjectKeys& inner(std::string key, ObjectKeys keys, bool required, std::string example) {
    const SharedFields fields = keys.shared_fields();
    const auto is_default = [fields](const Owner& owner) {
      for (const Field& field : *fields)
        if (!field.is_default(owner)) return false;
      return true;
    };
    fields_.push_back({std::move(key), required, required, std::move(example), keys.reader(fields), keys.writer(fields),
                       is_default, keys.schema()});
    return *this;
  }
  // What no single key can say, asked where the object had no fault so far.
  ObjectKeys& check(Check check) {
    check_ = std::move(check);
    return *this;
  }

  JsonType<Owner> type() {
    if constexpr (requires { &Owner::source; })
      optional("source", &Owner::source, text(), "Where the numbers are from, and when.");
    const SharedFields fields = shared_fields();
    return {[read = reader(fields)](const JsonNode& node, const std::string& place,
                                    FaultList& faults) -> std::optional<Owner> {
              Owner owner;
              return read(node, place, owner, faults) ? std::optional(std::move(owner)) : std::nullopt;
            },
            [write = writer(fields)](const Owner& owner) { return write(owner, false); }, schema(),
            [write = writer(fields)](const Owner& owner) { return write(owner, true); }};
  }

 private:
  // Whether the value is of the right kind, whatever it says.
  using Reader = std::function<bool(const JsonNode&, const std::string& place, Owner&, FaultList&)>;
  using Writer = std::function<JsonNode(const Owner&, bool all)>;

  struct Field {
    std::string key;
    bool required, always;
    std::string example;
    Reader read;
    Writer write;
    std::function<bool(const Owner&)> is_default;
    JsonNode schema;
  };
  using SharedFields = std::shared_ptr<const std::vector<Field>>;
  SharedFields shared_fields() const { return std::make_shared<const std::vector<Field>>(fields_); }

  template <class T>
  ObjectKeys& add(std::string key, T Owner::*member, JsonType<T> of, std::string help, bool required, bool always,
                  std::string example = {}) {
    const auto type = shared(std::move(of));
    JsonNode schema = with_help(std::move(help), type->schema);
    const JsonNode standard = type->write(Owner().*member);
    const bool is_plain = !standard.is(JsonNode::Kind::array) && !standard.is(JsonNode::Kind::object);
    if (!required && is_plain && !standard.is(JsonNode::Kind::null)) schema.add("default", standard);
    fields_.push_back({std::move(key), required, always, std::move(example),
                       [=](const JsonNode& node, const std::string& place, Owner& owner, FaultList& faults) {
                         auto value = type->read(node, place, faults);
                         if (value) owner.*member = std::move(*value);
                         return value.has_value();
                       },
                       [=](const Owner& owner, bool all) { return type->written(owner.*member, all); },
                       [=](const Owner& owner) { return owner.*member == Owner().*member; }, std::move(schema)});
    return *this;
  }

  Reader reader(SharedFields fields) const {
    run_file::Keys names;
    for (const Field& field : fields_) names.push_back({field.key, field.required, field.example});
    return [fields = std::move(fields), names, check = check_, hint = hint_](
               const JsonNode& node, const std::string& place, Owner& owner, FaultList& faults) {
      if (!faults.expect(node, place, JsonNode::Kind::object, "an object", hint)) return false;
      const size_t before = faults.count();
      faults.check_keys(node, place, names);
      for (const Field& field : *fields)
        if (const JsonNode* value = node.find(field.key))
          field.read(*value, member_place(place, field.key), owner, faults);
      if (check && faults.count() == before) check(owner, node, place, faults);
      return true;
    };
  }

  Writer writer(SharedFields fields) const {
    return [fields = std::move(fields)](const Owner& owner, bool all) {
      JsonNode node = JsonNode::object();
      for (const Field& field : *fields) {
        const bool is_said = field.always || !field.is_default(owner);
        if (!is_said && !all) continue;
        JsonNode value = field.write(owner, all);
        if (is_said || !value.is(JsonNode::Kind::null)) node.add(field.key, std::move(value));
      }
      return node;
    };
  }

  JsonNode schema() const {
    JsonMembers properties;
    std::vector<std::string> necessary;
    for (const Field& field : fields_) {
      properties.emplace_back(field.key, field.schema);
      if (field.required) necessary.push_back(field.key);
    }
    return with_help(help_, json_object({{"type", JsonNode::of("object")},
                                         {"required", json_list(necessary)},
                                         {"additionalProperties", JsonNode::of(false)},
                                         {"properties", json_object(std::move(properties))}}));
  }

  std::string help_, hint_;
  std::vector<Field> fields_;
  Check check_;
};

}  // namespace shardscope
