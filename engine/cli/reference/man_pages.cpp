#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "engine/cli/reference/formats.h"
#include "engine/cli/reference/wrap.h"

namespace shardscope {

namespace {

std::string escaped(const std::string& text) {
  std::string roff;
  for (char c : text) {
    if (c == '\\') roff += "\\e";
    else if (c == '-') roff += "\\-";
    else roff += c;
  }
  if (!roff.empty() && (roff[0] == '.' || roff[0] == '\'')) roff.insert(0, "\\&");
  return roff;
}

std::string prose(const std::string& text) { return with_code_marks(escaped(text), "\\fB", "\\fR"); }

std::string page_name(const CommandReference& command) {
  std::string name = command.call();
  std::ranges::replace(name, ' ', '-');
  return name;
}

std::string upper(std::string text) {
  for (char& c : text) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return text;
}

std::string man_term(const std::string& name, const std::string& meaning) {
  return fmt::format(".TP\n\\fB{}\\fR\n{}\n", escaped(name), prose(meaning));
}

std::string option_term(const OptionReference& option) {
  std::string meaning = option.help;
  if (!option.limits.empty()) meaning += fmt::format(" ({})", option.limits);
  if (option.is_repeatable) meaning += "; may be repeated";
  if (!option.environment.empty()) meaning += fmt::format("; else $`{}`", option.environment);
  return man_term(option.spelling(), meaning);
}

std::string page_text(const CommandReference& command, const std::string& version) {
  std::string text =
      fmt::format(".TH \"{}\" 1 \"\" \"shardscope {}\" \"Shardscope\"\n", upper(escaped(page_name(command))), version);
  text += fmt::format(".SH NAME\n{} \\- {}\n", escaped(page_name(command)), prose(command.summary));
  text += fmt::format(".SH SYNOPSIS\n.B {}\n", escaped(command.usage()));
  if (!command.help.paragraphs().empty()) text += ".SH DESCRIPTION\n";
  for (size_t i = 0; i < command.help.paragraphs().size(); ++i)
    text += (i > 0 ? ".PP\n" : "") + prose(command.help.paragraphs()[i]) + "\n";
  if (!command.commands.empty()) text += ".SH COMMANDS\n";
  for (const CommandReference& inner : command.commands)
    text += man_term(inner.name, inner.summary + fmt::format("; see `{}`(1)", page_name(inner)));
  if (!command.options.empty()) text += ".SH OPTIONS\n";
  for (const OptionReference& option : command.options) text += option_term(option);
  for (const HelpText::Table& table : command.help.tables()) {
    text += fmt::format(".SH {}\n", upper(escaped(table.title)));
    for (const auto& [name, meaning] : table.rows) text += man_term(name, meaning);
  }
  if (!command.help.examples().empty()) text += ".SH EXAMPLES\n";
  for (const HelpText::Example& example : command.help.examples())
    text += fmt::format(".TP\n\\fB{}\\fR\n{}\n", escaped(example.command), prose(example.purpose));
  if (!command.is_program()) text += fmt::format(".SH SEE ALSO\n\\fB{}\\fR(1)\n", command.program);
  return text;
}

void append_pages(std::vector<ManPage>& pages, const CommandReference& command, const std::string& version) {
  pages.push_back({page_name(command), page_text(command, version)});
  for (const CommandReference& inner : command.commands) append_pages(pages, inner, version);
}

}  // namespace

std::vector<ManPage> man_pages(const CommandReference& program, const std::string& version) {
  std::vector<ManPage> pages;
  append_pages(pages, program, version);
  return pages;
}

}  // namespace shardscope
