#include "engine/cli/reference/command_reference.h"

#include <algorithm>
#include <sstream>

namespace shardscope {

namespace {

// What CLI11 appends to a type's name for a check: "INT in [1 - 65536]", "{a,b}", "POSITIVE".
std::string limits_text(const std::string& check) {
  if (check == "POSITIVE") return "positive";
  if (check == "NONNEGATIVE") return "0 or more";
  const size_t begin = check.find(" in ["), dash = check.find(" - ");
  if (begin == std::string::npos || dash == std::string::npos) return "";
  return check.substr(begin + 5, dash - begin - 5) + " to " + check.substr(dash + 3, check.size() - dash - 4);
}

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, separator);) parts.push_back(part);
  return parts;
}

OptionReference read_option(const CLI::Option& option, const HelpText& help) {
  OptionReference read;
  read.is_positional = option.get_positional();
  if (read.is_positional) read.names = {option.get_name(true, false)};
  for (const std::string& name : option.get_lnames()) read.names.push_back("--" + name);
  for (const std::string& name : option.get_snames()) read.names.push_back("-" + name);
  read.is_required = option.get_required();
  read.is_repeatable = option.get_items_expected_max() > 1;
  read.environment = option.get_envname();
  read.help = option.get_description();
  if (option.get_items_expected_max() > 0 && !read.is_positional) {
    const std::string type = option.get_type_name();
    const size_t colon = type.find(':');
    read.value = type.substr(0, colon);
    const std::string check = colon == std::string::npos ? "" : type.substr(colon + 1);
    if (check.starts_with('{')) read.choices = split(check.substr(1, check.size() - 2), ',');
    else read.limits = limits_text(check);
  }
  read.offered = read.choices.empty() ? help.values_of(read.names.front()) : read.choices;
  return read;
}

bool is_one_of(const std::string& value, std::initializer_list<const char*> values) {
  return std::ranges::find(values, value) != values.end();
}

CommandReference read_within(const CLI::App& app, const HelpTexts& texts, const std::string& program,
                             const std::string& prefix) {
  CommandReference read;
  read.name = prefix + app.get_name();
  read.program = program;
  read.summary = app.get_description();
  if (const auto found = texts.find(&app); found != texts.end()) read.help = found->second;
  for (const CLI::Option* option : app.get_options()) {
    if (!option->get_group().empty()) read.options.push_back(read_option(*option, read.help));
  }
  std::ranges::stable_partition(read.options, &OptionReference::is_positional);
  const std::string inner = read.is_program() ? "" : read.name + " ";
  for (const CLI::App* command : app.get_subcommands([](const CLI::App* one) { return !one->get_group().empty(); }))
    read.commands.push_back(read_within(*command, texts, program, inner));
  return read;
}

}  // namespace

bool OptionReference::takes_file() const {
  return is_one_of(is_positional ? names.front() : value, {"FILE", "OUT", "JSON", "NAME|FILE", "PARAMETERS", "PATH"});
}

bool OptionReference::takes_folder() const {
  return is_one_of(is_positional ? names.front() : value, {"DIR", "FOLDER"});
}

std::string OptionReference::spelling() const {
  std::string text;
  for (const bool is_long : {false, true})
    for (const std::string& name : names)
      if (name.starts_with("--") == is_long) text += (text.empty() ? "" : ", ") + name;
  if (value.empty()) return text;
  std::string values;
  for (const std::string& choice : choices) values += (values.empty() ? "" : "|") + choice;
  return text + " " + (values.empty() ? value : values);
}

std::string CommandReference::usage() const {
  std::string text = call();
  if (!commands.empty()) text += " COMMAND";
  bool has_options = false;
  for (const OptionReference& option : options) {
    if (option.is_positional)
      text += " " + (option.is_required ? option.names.front() : "[" + option.names.front() + "]");
    else if (option.is_required) text += " " + option.names.front() + " " + option.value;
    else has_options = true;
  }
  return has_options ? text + " [OPTIONS]" : text;
}

CommandReference read_command(const CLI::App& app, const HelpTexts& texts) {
  const CLI::App* program = &app;
  std::string prefix;
  while (program->get_parent()) {
    program = program->get_parent();
    if (program->get_parent()) prefix = program->get_name() + " " + prefix;
  }
  return read_within(app, texts, program->get_name(), prefix);
}

}  // namespace shardscope
