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

// How a value of any type behind a pointer is read, written and compared: a JsonType without its type, so that what the
// keys of objects have in common is compiled once. A fault leaves the value as it was.
class AnyJsonType {
 public:
  virtual ~AnyJsonType() = default;
  // Whether the value is of the right kind, whatever it says.
  virtual bool read(const JsonNode& node, const std::string& place, void* value, FaultList& faults) const = 0;
  virtual JsonNode write(const void* value, bool all) const = 0;
  virtual bool equal(const void* one, const void* other) const = 0;
};

template <class T>
class MemberJsonType final : public AnyJsonType {
 public:
  explicit MemberJsonType(JsonType<T> type) : type_(std::move(type)) {}
  bool read(const JsonNode& node, const std::string& place, void* value, FaultList& faults) const override {
    auto read = type_.read(node, place, faults);
    if (!read) return false;
    *static_cast<T*>(value) = std::move(*read);
    return true;
  }
  JsonNode write(const void* value, bool all) const override {
    return type_.written(*static_cast<const T*>(value), all);
  }
  bool equal(const void* one, const void* other) const override {
    return *static_cast<const T*>(one) == *static_cast<const T*>(other);
  }

 private:
  JsonType<T> type_;
};

// Reads and judges a value, and keeps nothing of it.
template <class T>
class UnkeptJsonType final : public AnyJsonType {
 public:
  explicit UnkeptJsonType(JsonType<T> type) : type_(std::move(type)) {}
  bool read(const JsonNode& node, const std::string& place, void*, FaultList& faults) const override {
    return type_.read(node, place, faults).has_value();
  }
  JsonNode write(const void*, bool) const override { return {}; }
  bool equal(const void*, const void*) const override { return true; }

 private:
  JsonType<T> type_;
};

// The keys of an object that stands for an owner of some type, in the order in which they are written.
class KeyTable {
 public:
  // Where in an owner the value of a key is.
  using Member = std::function<void*(void* owner)>;
  using Check = std::function<void(const void* owner, const JsonNode&, const std::string& place, FaultList&)>;
  enum class Presence { required, written, optional };

  // `standard`: an owner with every member at its default. `hint`: what such an object looks like.
  KeyTable(std::shared_ptr<void> standard, std::string help, std::string hint)
      : standard_(std::move(standard)), help_(std::move(help)), hint_(std::move(hint)) {}

  void add(std::string key, Member member, std::shared_ptr<const AnyJsonType> type, const JsonNode& schema,
           std::string help, Presence presence, std::string example = {});
  void add_unkept(std::string key, std::shared_ptr<const AnyJsonType> type, const JsonNode& schema, std::string help);
  void add_inner(std::string key, KeyTable keys, bool required, std::string example);
  void set_check(Check check) { check_ = std::move(check); }

  bool read(const JsonNode& node, const std::string& place, void* owner, FaultList& faults) const;
  JsonNode write(const void* owner, bool all) const;
  bool is_default(const void* owner) const;
  JsonNode schema() const;

 private:
  struct Field {
    std::string key;
    bool required, always;
    std::string example;
    Member member;
    std::shared_ptr<const AnyJsonType> type;
    JsonNode schema;
  };
  bool is_default(const Field& field, const void* owner) const;

  std::shared_ptr<void> standard_;
  std::string help_, hint_;
  std::vector<Field> fields_;
  Check check_;
};

// The same of an Owner; "source" is the last key of an Owner that has one.
template <class Owner>
class ObjectKeys {
 public:
  using Check = std::function<void(const Owner&, const JsonNode&, const std::string& place, FaultList&)>;

  explicit ObjectKeys(std::string help, std::string hint = {})
      : table_(std::make_shared<Owner>(), std::move(help), std::move(hint)) {}

  // `example` of its value, as JSON, is for the hint where it is missing.
  template <class T>
  ObjectKeys& required(std::string key, T Owner::*member, JsonType<T> type, std::string help,
                       std::string example = "...") {
    return add(std::move(key), member, std::move(type), std::move(help), KeyTable::Presence::required,
               std::move(example));
  }
  // Need not be there, and is always written.
  template <class T>
  ObjectKeys& written(std::string key, T Owner::*member, JsonType<T> type, std::string help) {
    return add(std::move(key), member, std::move(type), std::move(help), KeyTable::Presence::written);
  }
  // Its default is that of a new Owner; a value that equals it is not written.
  template <class T>
  ObjectKeys& optional(std::string key, T Owner::*member, JsonType<T> type, std::string help) {
    return add(std::move(key), member, std::move(type), std::move(help), KeyTable::Presence::optional);
  }
  // A key that is read, and not kept.
  template <class T>
  ObjectKeys& unkept(std::string key, JsonType<T> type, std::string help) {
    const JsonNode schema = type.schema;
    table_.add_unkept(std::move(key), std::make_shared<UnkeptJsonType<T>>(std::move(type)), schema, std::move(help));
    return *this;
  }
  // An object of its own whose keys are of the same Owner.
  ObjectKeys& inner(std::string key, ObjectKeys keys, bool required, std::string example) {
    table_.add_inner(std::move(key), std::move(keys.table_), required, std::move(example));
    return *this;
  }
  // What no single key can say, asked where the object had no fault so far.
  ObjectKeys& check(Check check) {
    table_.set_check([check = std::move(check)](const void* owner, const JsonNode& node, const std::string& place,
                                                FaultList& faults) {
      check(*static_cast<const Owner*>(owner), node, place, faults);
    });
    return *this;
  }

  JsonType<Owner> type() {
    if constexpr (requires { &Owner::source; })
      optional("source", &Owner::source, text(), "Where the numbers are from, and when.");
    const auto table = std::make_shared<const KeyTable>(table_);
    return {[table](const JsonNode& node, const std::string& place, FaultList& faults) -> std::optional<Owner> {
              Owner owner;
              return table->read(node, place, &owner, faults) ? std::optional(std::move(owner)) : std::nullopt;
            },
            [table](const Owner& owner) { return table->write(&owner, false); }, table->schema(),
            [table](const Owner& owner) { return table->write(&owner, true); }};
  }

 private:
  template <class T>
  ObjectKeys& add(std::string key, T Owner::*member, JsonType<T> type, std::string help, KeyTable::Presence presence,
                  std::string example = {}) {
    const JsonNode schema = type.schema;
    table_.add(
        std::move(key), [member](void* owner) -> void* { return &(static_cast<Owner*>(owner)->*member); },
        std::make_shared<MemberJsonType<T>>(std::move(type)), schema, std::move(help), presence, std::move(example));
    return *this;
  }

  KeyTable table_;
};

}  // namespace shardscope
