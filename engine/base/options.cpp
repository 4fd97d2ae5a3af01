#include "engine/base/options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <type_traits>

#include "engine/base/meant_name.h"

namespace shardscope {

namespace {

const char* type_name(const OptionValue& value) {
  constexpr const char* names[] = {"true or false",     "an integer",        "a number", "a string",
                                   "a list of strings", "a list of numbers", "null"};
  return names[value.index()];
}

const OptionValue& find(const OptionList& options, const std::string& name) {
  if (const OptionValue* value = find_option(options, name)) return *value;
  throw Failure(Error{"unknown_option", "no option '" + name + "'", "", ""});
}

}  // namespace

std::string to_string(const OptionValue& value) {
  return std::visit(
      [](const auto& plain) {
        if constexpr (std::is_same_v<decltype(plain), const Null&>) return std::string("null");
        else return fmt::format("{}", plain);
      },
      value);
}

OptionList resolve_options(const std::vector<OptionDefinition>& definitions, const OptionList& given,
                           const std::string& section, std::vector<Error>& errors) {
  std::vector<std::string> names, keys;
  for (const OptionDefinition& definition : definitions) names.push_back(definition.name);
  for (const auto& [key, value] : given) keys.push_back(key);
  const auto is_misspelt = [&](const std::string& name) {
    return std::ranges::any_of(keys, [&](const std::string& key) { return meant_name(key, names, keys) == name; });
  };
  const auto is_in_open = [&](const std::string& key) {
    return std::ranges::any_of(definitions, [&](const OptionDefinition& definition) {
      return definition.is_open && key.starts_with(definition.name + ".");
    });
  };
  for (const auto& [key, value] : given) {
    if (std::find(names.begin(), names.end(), key) == names.end() && !is_in_open(key)) {
      errors.push_back({"unknown_key", "unknown key '" + key + "'", section + "." + key, name_hint(key, names)});
    }
  }
  OptionList resolved;
  for (const OptionDefinition& definition : definitions) {
    auto found =
        std::find_if(given.begin(), given.end(), [&](const auto& item) { return item.first == definition.name; });
    std::string place = section + "." + definition.name;
    if (definition.is_open) {
      if (found == given.end()) continue;
      errors.push_back({"wrong_type", fmt::format("expected an object, got {}", to_string(found->second)), place,
                        fmt::format("such as {{\"{}\": {{...}}}}", definition.name)});
      continue;
    }
    OptionValue value = definition.default_value;
    if (found != given.end()) {
      value = found->second;
      if (std::holds_alternative<double>(definition.default_value) && std::holds_alternative<int64_t>(value)) {
        value = static_cast<double>(std::get<int64_t>(value));
      }
      if (value.index() != definition.default_value.index()) {
        errors.push_back({"wrong_type",
                          fmt::format("expected {}, got {}", type_name(definition.default_value), to_string(value)),
                          place, fmt::format("for example {}", to_string(definition.default_value))});
        value = definition.default_value;
      }
      std::optional<double> number;
      if (auto* i = std::get_if<int64_t>(&value)) number = static_cast<double>(*i);
      if (auto* d = std::get_if<double>(&value)) number = *d;
      if (number && !(*number >= definition.minimum && *number <= definition.maximum)) {
        errors.push_back({"out_of_range", fmt::format("{} is out of range", to_string(value)), place,
                          fmt::format("from {} to {}", definition.minimum, definition.maximum)});
        value = definition.default_value;
      }
      const auto* text = definition.choices.empty() ? nullptr : std::get_if<std::string>(&value);
      if (text && std::ranges::find(definition.choices, *text) == definition.choices.end()) {
        errors.push_back({"unknown_choice", fmt::format("unknown {} '{}'", definition.name, *text), place,
                          name_hint(*text, definition.choices)});
        value = definition.default_value;
      }
    } else if (definition.required && !is_misspelt(definition.name)) {
      errors.push_back({"missing_key", "missing key '" + definition.name + "'", place,
                        fmt::format("for example {}", to_string(definition.default_value))});
    }
    resolved.emplace_back(definition.name, value);
  }
  for (const auto& option : given) {
    if (is_in_open(option.first)) resolved.push_back(option);
  }
  return resolved;
}

const OptionValue* NamedOptions::find(const std::string& key) const { return find_option(options, key); }

const OptionValue* find_option(const OptionList& options, const std::string& name) {
  const auto found = std::ranges::find(options, name, &OptionList::value_type::first);
  return found == options.end() ? nullptr : &found->second;
}

bool bool_option(const OptionList& options, const std::string& name) { return std::get<bool>(find(options, name)); }

int64_t integer_option(const OptionList& options, const std::string& name) {
  return std::get<int64_t>(find(options, name));
}

double real_option(const OptionList& options, const std::string& name) { return std::get<double>(find(options, name)); }

const std::string& string_option(const OptionList& options, const std::string& name) {
  return std::get<std::string>(find(options, name));
}

const TextList& list_option(const OptionList& options, const std::string& name) {
  return std::get<TextList>(find(options, name));
}

}  // namespace shardscope
