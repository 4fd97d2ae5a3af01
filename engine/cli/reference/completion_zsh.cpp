#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "engine/cli/reference/each_command.h"
#include "engine/cli/reference/formats.h"
#include "engine/cli/reference/wrap.h"

namespace shardscope {

namespace {

// Within single quotes; `special` characters behind a backslash.
std::string zsh_quoted(const std::string& text, const std::string& special) {
  std::string result;
  for (char c : with_code_marks(text, "", "")) {
    if (c == '\'') result += "'\\''";
    else if (special.find(c) != std::string::npos) result += std::string("\\") + c;
    else result += c;
  }
  return result;
}

std::string function_name(const CommandReference& command) {
  std::string name = command.call();
  std::ranges::replace(name, ' ', '_');
  return "_" + name;
}

std::string action(const OptionReference& option) {
  if (!option.offered.empty()) return fmt::format("({})", fmt::join(option.offered, " "));
  if (option.takes_folder()) return "_files -/";
  return option.takes_file() ? "_files" : "";
}

// "'--resume=[help]:DIR:_files -/'"; of several names each excludes the others.
std::string option_specs(const OptionReference& option) {
  const std::string help = "[" + zsh_quoted(option.help, "[]:\\") + "]";
  std::string specs;
  for (const std::string& name : option.names) {
    std::string spec = option.is_repeatable ? "*" : fmt::format("({})", fmt::join(option.names, " "));
    spec += name;
    if (!option.value.empty())
      spec += (name.starts_with("--") ? "=" : "") + help + ":" + zsh_quoted(option.value, ":\\") + ":" + action(option);
    else spec += help;
    specs += fmt::format(" \\\n    '{}'", spec);
  }
  return specs;
}

std::string command_function(const CommandReference& command) {
  std::string specs, branches;
  int position = 0;
  for (const OptionReference& option : command.options) {
    if (!option.is_positional) specs += option_specs(option);
    else
      specs += fmt::format(" \\\n    '{}{}:{}:{}'", ++position, option.is_required ? "" : ":", option.names.front(),
                           action(option));
  }
  if (command.commands.empty())
    return fmt::format("{}() {{\n  _arguments -s -S{}\n}}\n\n", function_name(command), specs);
  std::string commands;
  for (const CommandReference& inner : command.commands) {
    commands += fmt::format("    '{}:{}'\n", last_word(inner.name), zsh_quoted(inner.summary, ":\\"));
    branches += fmt::format("        {}) {} ;;\n", last_word(inner.name), function_name(inner));
  }
  return fmt::format(
      "{}() {{\n  local curcontext=$curcontext state line\n  local -a commands=(\n{}  )\n"
      "  _arguments -C{} \\\n    '1:command:->command' \\\n    '*::argument:->argument'\n"
      "  case $state in\n    command) _describe -t commands command commands ;;\n"
      "    argument)\n      case $line[1] in\n{}      esac ;;\n  esac\n}}\n\n",
      function_name(command), commands, specs, branches);
}

}  // namespace

std::string zsh_completion(const CommandReference& program) {
  std::string text = fmt::format("#compdef {0}\n# Written by '{0} completion zsh'.\n\n", program.name);
  for_each_command(program, [&](const CommandReference& command) { text += command_function(command); });
  return text + fmt::format("if [[ $funcstack[1] == {0} ]]; then {0} \"$@\"; else compdef {0} {1}; fi\n",
                            function_name(program), program.name);
}

}  // namespace shardscope
