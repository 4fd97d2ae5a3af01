#include <memory>

#include "engine/cli/command_line.h"
#include "engine/cli/run_file_arguments.h"

namespace shardscope {

void add_validate(CLI::App& app, CommandLine& line) {
  CLI::App* command = app.add_subcommand("validate", "Check a run file: says nothing when it is right");
  auto arguments = std::make_shared<RunFileArguments>();
  arguments->add_to(*command);
  command->callback([&line, arguments] {
    line.action = [arguments] {
      arguments->load();
      return exit_ok;
    };
  });
}

}  // namespace shardscope
