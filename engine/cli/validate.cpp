#include <memory>

#include "engine/base/standard_streams.h"
#include "engine/cli/command_line.h"
#include "engine/cli/run_file_arguments.h"
#include "engine/compile/compile.h"

namespace shardscope {

void add_validate(CLI::App& app, CommandLine& line) {
  CLI::App* command =
      app.add_subcommand("validate", "Check a run file: says nothing when it is right, but for warnings");
  auto arguments = std::make_shared<RunFileArguments>();
  arguments->add_to(*command);
  command->callback([&line, arguments] {
    line.action = [arguments] {
      for (const Error& warning : config_warnings(arguments->load())) {
        note("warning: " + to_string(warning));
      }
      return exit_ok;
    };
  });
}

}  // namespace shardscope
