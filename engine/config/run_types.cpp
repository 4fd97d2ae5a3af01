#include "engine/config/run_types.h"

#include <limits>

#include "engine/base/name_pattern.h"
#include "engine/config/read_specs.h"

namespace shardscope {

namespace {

using Kind = JsonNode::Kind;

struct OptionWriter {
  template <class T>
  JsonNode operator()(const T& plain) const {
    return JsonNode::of(plain);
  }
  JsonNode operator()(const TextList& texts) const { return json_list(texts); }
  JsonNode operator()(const NumberList& numbers) const {
    JsonNode list = JsonNode::array();
    for (double number : numbers) list.items.push_back(JsonNode::of(number));
    return list;
  }
  JsonNode operator()(Null) const { return {}; }
};

void add_option(JsonNode& node, const std::string& key, JsonNode value) {
  const size_t dot = key.find('.');
  JsonNode* inner = node.find(key.substr(0, dot));
  if (dot == std::string::npos || (inner && !inner->is(Kind::object))) {
    node.add(key, std::move(value));
    return;
  }
  if (!inner) inner = &node.add(key.substr(0, dot), JsonNode::object());
  add_option(*inner, key.substr(dot + 1), std::move(value));
}

TextList read_texts(const JsonNode& list, const std::string& place, FaultList& faults) {
  TextList result;
  for (size_t i = 0; i < list.items.size(); ++i) {
    faults.expect(list.items[i], element_place(place, i), Kind::string, "text");
    result.push_back(list.items[i].text);
  }
  return result;
}

NumberList read_numbers(const JsonNode& list, const std::string& place, FaultList& faults) {
  NumberList result;
  for (size_t i = 0; i < list.items.size(); ++i) {
    const JsonNode& item = list.items[i];
    if (!item.is(Kind::integer)) faults.expect(item, element_place(place, i), Kind::number, "a number");
    result.push_back(item.is(Kind::integer) ? static_cast<double>(item.integer) : item.number);
  }
  return result;
}

bool is_number(const JsonNode& node) { return node.is(Kind::number) || node.is(Kind::integer); }

// `is_inner`: of an object of options, which may hold null and lists of numbers.
std::optional<OptionValue> read_value(const JsonNode& item, const std::string& place, bool is_inner,
                                      FaultList& faults) {
  switch (item.kind) {
    case Kind::boolean: return item.boolean;
    case Kind::string: return item.text;
    case Kind::number:
      if (item.text.empty() || item.text.find_first_of(".eE") != std::string::npos) return item.number;
      faults.fail(item.line, place, "out_of_range", fmt::format("{} is out of range", item.text),
                  fmt::format("integers reach {}", std::numeric_limits<int64_t>::max()));
      return std::nullopt;
    case Kind::integer: return item.integer;
    case Kind::array:
      if (!is_inner || item.items.empty() || !is_number(item.items[0])) return read_texts(item, place, faults);
      return read_numbers(item, place, faults);
    case Kind::null:
      if (is_inner) return Null{};
      break;
    case Kind::object: break;
  }
  faults.fail(item.line, place, "wrong_type",
              fmt::format("expected a number, text, true, false or a list of texts, got {}", describe(item)));
  return std::nullopt;
}

void read_option(const JsonNode& item, const std::string& place, const std::string& key, OptionList& options,
                 FaultList& faults) {
  if (!item.is(Kind::object) || item.items.empty()) {
    const bool is_inner = key.find('.') != std::string::npos;
    if (auto value = read_value(item, place, is_inner, faults)) options.emplace_back(key, std::move(*value));
    return;
  }
  for (size_t i = 0; i < item.items.size(); ++i) {
    if (item.find(item.keys[i]) != &item.items[i]) continue;
    read_option(item.items[i], member_place(place, item.keys[i]), key + "." + item.keys[i], options, faults);
  }
}

void add_parameter(JsonNode& parameters, const ParameterSpec& parameter) {
  auto refuse = [&](const char* message) {
    throw Failure(Error{"parameter_path", message, parameter_place(parameter), "one array for each parameter"});
  };
  if (parameter.path.empty()) refuse("a parameter has no path");
  JsonNode* node = &parameters;
  for (size_t i = 0; i < parameter.path.size(); ++i) {
    const bool last = i + 1 == parameter.path.size();
    JsonNode* next = node->find(parameter.path[i]);
    if (next && last) refuse("two specs for the same parameter, or one inside another");
    if (!next) next = &node->add(parameter.path[i], last ? spec().write(parameter.spec) : JsonNode::object());
    if (!last && !next->is(Kind::object)) refuse("two specs for the same parameter, or one inside another");
    node = next;
  }
}

JsonNode defined(const char* name) { return json_object({{"$ref", JsonNode::of(std::string("#/$defs/") + name)}}); }

}  // namespace

JsonType<int64_t> count() { return integer<int64_t>(1, 4096); }

JsonType<std::string> one_of(const std::vector<std::string>& names, const char* what) {
  Choices<std::string> choices;
  for (const std::string& name : names) choices.emplace_back(name, name);
  return choice(choices, what);
}

JsonType<std::string> names(const std::string& hint) {
  return {[=](const JsonNode& node, const std::string& place, FaultList& faults) {
            return std::optional(read_names(node, place, faults, hint));
          },
          [](const std::string& names) {
            const std::vector<std::string> list = list_of_pattern(names);
            return names.empty() ? JsonNode() : list.empty() ? JsonNode::of(names) : json_list(list);
          },
          any_of({text_of_some_length().schema, list_of(text_of_some_length(), 1).schema})};
}

JsonType<std::string> some_text(const char* expected, const std::string& message, const std::string& hint) {
  JsonType<std::string> type = text(expected);
  type.read = [=, read = type.read](const JsonNode& node, const std::string& place, FaultList& faults) {
    auto value = read(node, place, faults);
    if (value && value->empty()) faults.fail(node.line, place, "empty_name", message, hint);
    return value;
  };
  type.schema = text_of_some_length().schema;
  return type;
}

JsonType<std::string> named(const char* expected, const std::string& hint, const char* usual) {
  return {[=](const JsonNode& node, const std::string& place, FaultList& faults) -> std::optional<std::string> {
            if (!node.is(Kind::string) && !faults.expect(node, place, Kind::object, expected, hint)) return {};
            return node.is(Kind::string) && node.text == usual ? "" : print_json_line(node);
          },
          [=](const std::string& json) { return json.empty() ? JsonNode::of(usual) : read_json(json, expected); },
          any_of({text_of_some_length().schema, json_object({{"type", JsonNode::of("object")}})})};
}

JsonType<NamedOptions> options(const char* key, const char* what, const std::string& help) {
  return {[=, name = some_text("a name", "the name is empty", "")](const JsonNode& node, const std::string& place,
                                                                   FaultList& faults) -> std::optional<NamedOptions> {
            if (!faults.expect(node, place, Kind::object, "an object")) return {};
            NamedOptions named;
            for (size_t i = 0; i < node.items.size(); ++i) {
              const JsonNode& item = node.items[i];
              const std::string its_place = member_place(place, node.keys[i]);
              if (node.find(node.keys[i]) != &item) continue;
              if (node.keys[i] != key) {
                read_option(item, its_place, node.keys[i], named.options, faults);
              } else if (auto chosen = name.read(item, its_place, faults)) {
                named.name = std::move(*chosen);
              }
            }
            if (!node.find(key)) {
              faults.fail(node.line, member_place(place, key), "missing_key", fmt::format("'{}' is missing", key),
                          fmt::format("it says which {} is meant", what));
            }
            return named;
          },
          [=](const NamedOptions& named) {
            JsonNode node = json_object({{key, JsonNode::of(named.name)}});
            for (const auto& [option, value] : named.options)
              add_option(node, option, std::visit(OptionWriter{}, value));
            return node;
          },
          json_object({{"description", JsonNode::of(help)},
                       {"type", JsonNode::of("object")},
                       {"required", json_list({key})},
                       {"properties", json_object({{key, text_of_some_length().schema}})},
                       {"additionalProperties", defined("option")}})};
}

JsonType<PartitionSpec> spec() {
  return {[](const JsonNode& node, const std::string& place, FaultList& faults) {
            return std::optional(read_spec(node, place, faults));
          },
          [](const PartitionSpec& spec) {
            JsonNode node = JsonNode::array();
            for (const std::vector<std::string>& axes : spec.dims) node.items.push_back(spec_entry().write(axes));
            return node;
          },
          defined("spec")};
}

JsonType<std::vector<std::string>> spec_entry() {
  return {[](const JsonNode& node, const std::string& place, FaultList& faults) {
            return std::optional(read_spec_entry(node, place, faults));
          },
          [](const std::vector<std::string>& axes) {
            return axes.empty() ? JsonNode() : axes.size() == 1 ? JsonNode::of(axes[0]) : json_list(axes);
          },
          defined("spec_entry")};
}

JsonType<std::vector<ParameterSpec>> parameter_specs() {
  constexpr const char* hint = R"(such as {"params": {"Embed_0": {"embedding": ["data", "model"]}}})";
  return {[=](const JsonNode& node, const std::string& place,
              FaultList& faults) -> std::optional<std::vector<ParameterSpec>> {
            if (!faults.expect(node, place, Kind::object, "an object", hint)) return {};
            return read_parameter_specs(node, place, faults);
          },
          [](const std::vector<ParameterSpec>& parameters) {
            JsonNode node = JsonNode::object();
            for (const ParameterSpec& parameter : parameters) add_parameter(node, parameter);
            return node;
          },
          defined("nested_specs")};
}

JsonNode definitions() {
  return read_json(R"({
    "option": {
      "description": "An object, which is not empty, holds options of its own: {\"overrides\": {\"a\": 1}}.",
      "type": ["boolean", "number", "string", "array", "object"],
      "items": {"type": "string"},
      "minProperties": 1,
      "additionalProperties": {"$ref": "#/$defs/inner_option"}
    },
    "inner_option": {
      "description": "Of an object of options: also null, or a list of numbers.",
      "type": ["boolean", "number", "string", "array", "object", "null"],
      "anyOf": [{"items": {"type": "string"}}, {"items": {"type": "number"}}],
      "minProperties": 1,
      "additionalProperties": {"$ref": "#/$defs/inner_option"}
    },
    "spec": {
      "description": "For each dimension an axis, null, or several axes from major to minor; dimensions behind the last entry are replicated.",
      "type": "array",
      "items": {"$ref": "#/$defs/spec_entry"}
    },
    "spec_entry": {
      "anyOf": [
        {"type": "null"},
        {"type": "string", "minLength": 1},
        {"type": "array", "items": {"type": "string", "minLength": 1}}
      ]
    },
    "nested_specs": {
      "type": "object",
      "propertyNames": {"minLength": 1},
      "additionalProperties": {"anyOf": [{"$ref": "#/$defs/spec"}, {"$ref": "#/$defs/nested_specs"}]}
    }
  })",
                   "");
}

}  // namespace shardscope
