#include <fmt/format.h>

#include <algorithm>

#include "engine/cli/reference/formats.h"
#include "engine/cli/reference/wrap.h"

namespace shardscope {

namespace {

constexpr size_t help_width = 100, widest_term = 28;

std::string plain(const std::string& text, size_t indent) {
  return wrapped(with_code_marks(text, "'", "'"), indent, help_width);
}

// Terms in a column as wide as the widest that is not too wide; behind such a one the meaning has a line of its own.
std::string term_list(const std::vector<std::pair<std::string, std::string>>& rows) {
  size_t column = 0;
  for (const auto& [term, meaning] : rows)
    if (term.size() <= widest_term) column = std::max(column, term.size());
  const size_t indent = column + 4;
  std::string text;
  for (const auto& [term, meaning] : rows) {
    text += "  " + term;
    if (term.size() > column) text += "\n" + std::string(indent, ' ');
    else text += std::string(indent - 2 - term.size(), ' ');
    text += plain(meaning, indent) + "\n";
  }
  return text;
}

std::string help_meaning(const OptionReference& option) {
  std::string text = option.help;
  if (!option.limits.empty()) text += fmt::format(" ({})", option.limits);
  if (option.is_repeatable) text += "; may be repeated";
  if (!option.environment.empty()) text += fmt::format(" [${}]", option.environment);
  return text;
}

}  // namespace

std::string help_page(const CommandReference& command) {
  std::string text = plain(command.summary, 0) + "\nUsage: " + command.usage() + "\n";
  for (const std::string& paragraph : command.help.paragraphs()) text += "\n" + plain(paragraph, 0) + "\n";
  std::vector<std::pair<std::string, std::string>> arguments, options, commands;
  for (const OptionReference& option : command.options)
    (option.is_positional ? arguments : options).emplace_back(option.spelling(), help_meaning(option));
  for (const CommandReference& inner : command.commands)
    commands.emplace_back(inner.name.substr(inner.name.rfind(' ') + 1), inner.summary);
  if (!commands.empty()) text += "\nCommands:\n" + term_list(commands);
  if (!arguments.empty()) text += "\nArguments:\n" + term_list(arguments);
  if (!options.empty()) text += "\nOptions:\n" + term_list(options);
  for (const HelpText::Table& table : command.help.tables())
    text += fmt::format("\n{}:\n{}", table.title, term_list(table.rows));
  if (!command.help.examples().empty()) text += "\nExamples:\n";
  for (const HelpText::Example& example : command.help.examples())
    text += fmt::format("  {}\n      {}\n", example.command, plain(example.purpose, 6));
  return text;
}

}  // namespace shardscope
