#include <fmt/format.h>

#include <algorithm>
#include <regex>

#include "engine/cli/reference/formats.h"
#include "engine/cli/reference/wrap.h"

namespace shardscope {

namespace {

constexpr size_t document_width = 120;

std::string linked(const std::string& text) {
  static const std::regex document("\\b(?:docs/([a-z-]+\\.md)|(SECURITY\\.md|resources/[\\w.]+))");
  std::string result;
  auto begin = text.begin();
  for (std::sregex_iterator found(text.begin(), text.end(), document), end; found != end; ++found) {
    result.append(begin, (*found)[0].first);
    result += (*found)[1].matched ? fmt::format("[{0}]({0})", (*found)[1].str())
                                  : fmt::format("[{0}](../{0})", (*found)[2].str());
    begin = (*found)[0].second;
  }
  return result.append(begin, text.end());
}

std::string cell(const std::string& text) {
  std::string escaped;
  for (char c : linked(text)) escaped += c == '|' ? "\\|" : std::string(1, c);
  return escaped;
}

std::string first_upper(std::string text) {
  if (!text.empty() && text[0] >= 'a' && text[0] <= 'z') text[0] = static_cast<char>(text[0] - 'a' + 'A');
  return text;
}

// Of a term that has several names all, each as code: "`--quiet`, `-q`".
std::string code_cell(const std::string& term) {
  std::string text = "`";
  for (size_t i = 0; i < term.size(); ++i) {
    if (term.compare(i, 2, ", ") == 0) {
      text += "`, `";
      ++i;
    } else {
      text += term[i] == '|' ? "\\|" : std::string(1, term[i]);
    }
  }
  return text + "`";
}

std::string option_meaning(const OptionReference& option) {
  std::string text = option.help;
  if (!option.limits.empty()) text += fmt::format(" ({})", option.limits);
  if (option.is_repeatable) text += "; may be repeated";
  if (!option.environment.empty()) text += fmt::format("; else `${}`", option.environment);
  return text;
}

std::string terms(const char* term, const std::vector<std::pair<std::string, std::string>>& rows) {
  std::string text = fmt::format("\n| {} | meaning |\n|---|---|\n", term);
  for (const auto& [name, meaning] : rows) text += fmt::format("| {} | {} |\n", code_cell(name), cell(meaning));
  return text;
}

// Those of every command are said once, in the program's chapter.
bool is_common(const OptionReference& option) {
  return std::ranges::any_of(option.names,
                             [](const std::string& name) { return name == "--help" || name == "--quiet"; });
}

std::string chapter(const CommandReference& command, int depth) {
  std::string text =
      fmt::format("\n{} {}\n\n    {}\n\n{}.\n", std::string(static_cast<size_t>(depth), '#'), command.name,
                  command.usage(), first_upper(wrapped(linked(command.summary), 0, document_width)));
  for (const std::string& paragraph : command.help.paragraphs())
    text += "\n" + wrapped(linked(paragraph), 0, document_width) + "\n";
  std::vector<std::pair<std::string, std::string>> rows;
  for (const OptionReference& option : command.options)
    if (!is_common(option)) rows.emplace_back(option.spelling(), option_meaning(option));
  if (!rows.empty()) text += terms("option", rows);
  for (const HelpText::Table& table : command.help.tables())
    text += fmt::format("\n{}# {}\n{}", std::string(static_cast<size_t>(depth), '#'), table.title,
                        terms("term", table.rows));
  for (const HelpText::Example& example : command.help.examples())
    text += fmt::format("\n{}:\n\n    {}\n", first_upper(wrapped(linked(example.purpose), 0, document_width)),
                        example.command);
  for (const CommandReference& inner : command.commands) text += chapter(inner, depth + 1);
  return text;
}

std::string anchor(std::string name) {
  std::ranges::replace(name, ' ', '-');
  return name;
}

}  // namespace

std::string commands_document(const CommandReference& program) {
  std::string text =
      "# The command line\n\n<!-- Written by ./run documents from what `shardrun --help` says; edit that. -->\n\n" +
      wrapped(linked(program.summary), 0, document_width) + ".\n\n| command | purpose |\n|---|---|\n";
  for (const CommandReference& command : program.commands)
    text += fmt::format("| [`{0}`](#{1}) | {2} |\n", command.name, anchor(command.name), cell(command.summary));
  for (const std::string& paragraph : program.help.paragraphs())
    text += "\n" + wrapped(linked(paragraph), 0, document_width) + "\n";
  std::vector<std::pair<std::string, std::string>> rows;
  for (const OptionReference& option : program.options) rows.emplace_back(option.spelling(), option_meaning(option));
  text += terms("option", rows);
  for (const HelpText::Table& table : program.help.tables())
    text += fmt::format("\n## {}\n{}", table.title, terms("term", table.rows));
  for (const CommandReference& command : program.commands) text += chapter(command, 2);
  return text;
}

}  // namespace shardscope
