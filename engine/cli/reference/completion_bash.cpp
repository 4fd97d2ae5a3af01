#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "engine/cli/reference/each_command.h"
#include "engine/cli/reference/formats.h"

namespace shardscope {

namespace {

constexpr const char* bash_begin = R"(# bash completion of {0}. Written by '{0} completion bash'.
_{0}() {{
  local cur=${{COMP_WORDS[COMP_CWORD]}} prev=${{COMP_WORDS[COMP_CWORD - 1]}} command= word
  if [[ $cur == = ]]; then
    cur=
  elif [[ $prev == = ]]; then
    prev=${{COMP_WORDS[COMP_CWORD - 2]}}
  fi
  for word in "${{COMP_WORDS[@]:1:COMP_CWORD-1}}"; do
    case "$command/$word" in
      {1})
        command=${{command:+$command }}$word ;;
    esac
  done
  COMPREPLY=()
  case $command in
)";

constexpr const char* bash_end = R"(  esac
}}
complete -F _{0} {0}
)";

std::string words_reply(const std::vector<std::string>& words) {
  return fmt::format("mapfile -t COMPREPLY < <(compgen -W \"{}\" -- \"$cur\")", fmt::join(words, " "));
}

std::string path_reply(const char* action) {
  return fmt::format("mapfile -t COMPREPLY < <(compgen {} -- \"$cur\"); compopt -o filenames 2>/dev/null", action);
}

std::string value_reply(const OptionReference& option) {
  if (!option.offered.empty()) return words_reply(option.offered);
  if (option.takes_folder()) return path_reply("-d");
  return option.takes_file() ? path_reply("-f") : ":";
}

std::string branch(const CommandReference& command) {
  std::string values;
  std::vector<std::string> words;
  bool takes_path = false;
  for (const OptionReference& option : command.options) {
    if (option.is_positional) {
      takes_path = takes_path || option.takes_file() || option.takes_folder();
      words.insert(words.end(), option.offered.begin(), option.offered.end());
      continue;
    }
    words.insert(words.end(), option.names.begin(), option.names.end());
    if (!option.value.empty())
      values += fmt::format("        {}) {}; return ;;\n", fmt::join(option.names, "|"), value_reply(option));
  }
  for (const CommandReference& inner : command.commands) words.push_back(last_word(inner.name));
  std::string text = fmt::format("    \"{}\")\n", command.is_program() ? "" : command.name);
  if (!values.empty()) text += "      case $prev in\n" + values + "      esac\n";
  if (takes_path) text += fmt::format("      if [[ $cur != -* ]]; then {}; return; fi\n", path_reply("-f"));
  return text + "      " + words_reply(words) + " ;;\n";
}

}  // namespace

std::string bash_completion(const CommandReference& program) {
  std::vector<std::string> ways;
  std::string branches;
  for_each_command(program, [&](const CommandReference& command) {
    if (!command.is_program())
      ways.push_back(fmt::format("'{}/{}'", outer_command(command.name), last_word(command.name)));
    branches += branch(command);
  });
  return fmt::format(fmt::runtime(bash_begin), program.name, fmt::join(ways, "|")) + branches +
         fmt::format(fmt::runtime(bash_end), program.name);
}

}  // namespace shardscope
