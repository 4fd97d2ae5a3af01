#include "engine/cli/option_reference.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>

#include "engine/cli/document_table.h"
#include "engine/cli/text_table.h"
#include "engine/data/data_kind.h"
#include "engine/optim/optimizer.h"
#include "models/registry.h"

namespace shardscope {

namespace {

template <class Definition>
void append(std::vector<OptionOwner>& owners, const char* section, const std::vector<Definition>& definitions) {
  for (const Definition& one : definitions) owners.push_back({section, one.name, one.summary, &one.options});
}

std::string_view type_name(const OptionDefinition& option) {
  if (std::holds_alternative<bool>(option.default_value)) return "true or false";
  if (std::holds_alternative<int64_t>(option.default_value)) return "integer";
  if (std::holds_alternative<double>(option.default_value)) return "number";
  if (std::holds_alternative<TextList>(option.default_value)) return "list of texts";
  return option.is_open ? "object" : option.is_path ? "path" : "text";
}

bool is_number(const OptionDefinition& option) {
  return std::holds_alternative<int64_t>(option.default_value) || std::holds_alternative<double>(option.default_value);
}

std::string quoted(const std::string& text) { return '"' + text + '"'; }

// What it may be, each value that is written as in JSON between two `mark`.
std::string values_text(const OptionDefinition& option, const char* mark) {
  if (!option.choices.empty()) {
    std::vector<std::string> choices;
    for (const std::string& choice : option.choices) choices.push_back(mark + quoted(choice) + mark);
    return fmt::format("{}", fmt::join(choices, ", "));
  }
  if (!is_number(option)) return std::string(type_name(option));
  return fmt::format("{}, {:.10g} to {:.10g}", type_name(option), option.minimum, option.maximum);
}

std::string default_text(const OptionDefinition& option, const char* mark) {
  if (option.required) return "required";
  const auto marked = [&](const std::string& text) { return mark + text + mark; };
  if (const bool* flag = std::get_if<bool>(&option.default_value)) return marked(*flag ? "true" : "false");
  if (const int64_t* integer = std::get_if<int64_t>(&option.default_value)) return marked(std::to_string(*integer));
  if (const double* number = std::get_if<double>(&option.default_value)) return marked(fmt::format("{:g}", *number));
  if (const std::string* text = std::get_if<std::string>(&option.default_value))
    return text->empty() ? "none" : marked(quoted(*text));
  return std::get<TextList>(option.default_value).empty() ? "none" : "a list";
}

template <class T>
void set_default(nlohmann::ordered_json& json, const T& value) {
  json["default"] = value;
}
void set_default(nlohmann::ordered_json& json, Null) { json["default"] = nullptr; }

nlohmann::ordered_json option_json(const OptionDefinition& option) {
  nlohmann::ordered_json json = {{"name", option.name}, {"type", type_name(option)}};
  if (is_number(option)) json.update({{"minimum", option.minimum}, {"maximum", option.maximum}});
  if (!option.choices.empty()) json["choices"] = option.choices;
  json["required"] = option.required;
  if (!option.required) std::visit([&](const auto& value) { set_default(json, value); }, option.default_value);
  json["help"] = option.help;
  return json;
}

std::string markdown_table(const std::vector<OptionDefinition>& options) {
  std::string text = "| option | value | default | meaning |\n|---|---|---|---|\n";
  for (const OptionDefinition& option : options) {
    text += fmt::format("| `{}` | {} | {} | {} |\n", option.name, values_text(option, "`"), default_text(option, "`"),
                        option.help);
  }
  return text;
}

}  // namespace

std::vector<OptionOwner> option_owners() {
  std::vector<OptionOwner> owners;
  append(owners, "model", all_models());
  append(owners, "data", all_data_kinds());
  append(owners, "optimizer", all_optimizers());
  return owners;
}

std::string option_owners_text() {
  std::string text, section;
  for (const OptionOwner& owner : option_owners()) {
    if (owner.section != section) text += fmt::format("{}{}\n", text.empty() ? "" : "\n", owner.section);
    section = owner.section;
    text += fmt::format("  {:<26}{}\n", owner.name, owner.summary);
  }
  return text;
}

std::string option_owner_text(const OptionOwner& owner) {
  TextTable table({{"option"}, {"value"}, {"default"}, {"meaning"}});
  for (const OptionDefinition& option : *owner.options)
    table.add_row({option.name, values_text(option, ""), default_text(option, ""), option.help});
  return fmt::format("{} {}: {}\n\n{}", owner.section, owner.name, owner.summary, table.text());
}

std::string option_owners_json(const std::vector<OptionOwner>& owners) {
  nlohmann::ordered_json json = {
      {"model", nlohmann::json::array()}, {"data", nlohmann::json::array()}, {"optimizer", nlohmann::json::array()}};
  for (const OptionOwner& owner : owners) {
    nlohmann::ordered_json options = nlohmann::json::array();
    for (const OptionDefinition& option : *owner.options) options.push_back(option_json(option));
    json[owner.section].push_back({{"name", owner.name}, {"summary", owner.summary}, {"options", std::move(options)}});
  }
  return json.dump(2) + "\n";
}

std::string with_option_tables(const std::string& document) {
  std::string text = document;
  for (const OptionOwner& owner : option_owners())
    text = with_table(std::move(text), "#### " + owner.name, "| option |", markdown_table(*owner.options));
  return text;
}

}  // namespace shardscope
