#include <fmt/format.h>
#include <fmt/ranges.h>

#include "engine/cli/reference/each_command.h"
#include "engine/cli/reference/formats.h"
#include "engine/cli/reference/wrap.h"

namespace shardscope {

namespace {

constexpr const char* fish_begin = R"(# fish completion of {0}. Written by '{0} completion fish'.
function __{0}_command
    set -l command
    for word in (commandline -opc)
        switch "$command/$word"
            case {1}
                set command (string trim "$command $word")
        end
    end
    echo "$command"
end

complete -c {0} -f
)";

std::string fish_quoted(const std::string& text) {
  std::string result = "'";
  for (char c : with_code_marks(text, "", "")) {
    if (c == '\'' || c == '\\') result += '\\';
    result += c;
  }
  return result + "'";
}

// -x: a value and no files; -r: a value, with files where they are asked for.
std::string value_flags(const OptionReference& option) {
  if (!option.offered.empty()) return fmt::format(" -x -a '{}'", fmt::join(option.offered, " "));
  if (option.takes_folder()) return " -x -a '(__fish_complete_directories)'";
  return option.takes_file() ? " -r -F" : " -x";
}

std::string lines_of(const CommandReference& command) {
  const std::string when = fmt::format("complete -c {0} -n 'test (__{0}_command) = \"{1}\"'", command.program,
                                       command.is_program() ? "" : command.name);
  std::string text;
  for (const CommandReference& inner : command.commands)
    text += fmt::format("{} -a {} -d {}\n", when, last_word(inner.name), fish_quoted(inner.summary));
  for (const OptionReference& option : command.options) {
    if (option.is_positional) {
      if (!option.offered.empty()) text += fmt::format("{} -a '{}'\n", when, fmt::join(option.offered, " "));
      else if (option.takes_file() || option.takes_folder()) text += when + " -F\n";
      continue;
    }
    std::string names;
    for (const std::string& name : option.names)
      names += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
    text += fmt::format("{}{}{} -d {}\n", when, names, option.value.empty() ? "" : value_flags(option),
                        fish_quoted(option.help));
  }
  return text;
}

}  // namespace

std::string fish_completion(const CommandReference& program) {
  std::vector<std::string> ways;
  std::string lines;
  for_each_command(program, [&](const CommandReference& command) {
    if (!command.is_program())
      ways.push_back(fmt::format("'{}/{}'", outer_command(command.name), last_word(command.name)));
    lines += lines_of(command);
  });
  return fmt::format(fmt::runtime(fish_begin), program.name, fmt::join(ways, " ")) + lines;
}

}  // namespace shardscope
