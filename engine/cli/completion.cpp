#include <algorithm>
#include <memory>

#include "engine/base/standard_streams.h"
#include "engine/cli/command_line.h"
#include "engine/cli/reference/formats.h"

namespace shardscope {

void add_completion(CLI::App& app, CommandLine& line) {
  CLI::App* command = app.add_subcommand("completion", "What a shell reads to complete commands, options and values");
  auto name = std::make_shared<std::string>();
  std::vector<std::string> names;
  for (const Shell& shell : all_shells()) names.push_back(shell.name);
  command->add_option("SHELL", *name, "bash, zsh or fish")->required()->check(CLI::IsMember(names));
  line.help(command)
      .values("SHELL", names)
      .paragraph("The Debian packages install it for all three.")
      .example("source <(shardrun completion bash)", "in `~/.bashrc`")
      .example("shardrun completion zsh > ~/.zfunc/_shardrun", "in a folder of zsh's `$fpath`")
      .example("shardrun completion fish > ~/.config/fish/completions/shardrun.fish", "for fish");
  command->callback([&line, name] {
    line.action = [name] {
      const auto shell = std::ranges::find(all_shells(), *name, &Shell::name);
      print_lines(shell->completion(command_reference()));
      return exit_ok;
    };
  });
}

}  // namespace shardscope
