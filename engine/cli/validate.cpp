#include <memory>

#include "engine/base/standard_streams.h"
#include "engine/cli/command_line.h"
#include "engine/cli/run_file_arguments.h"
#include "engine/compile/compile.h"

namespace shardscope {

void add_validate(CLI::App& app, CommandLine& line) {
  CLI::App* command = app.add_subcommand("validate", "Check a run file");
  auto arguments = std::make_shared<RunFileArguments>();
  arguments->add_to(*command);
  line.help(command)
      .paragraph(
          "Prints nothing, or every error with its place in the file and what would be right; also warnings, such as "
          "rules that do not divide. It refuses a pipeline in which stages wait for each other in a ring.")
      .example("shardrun validate run.json", "all faults of a file")
      .example("shardrun validate run.json --set mesh.data=8", "those that another mesh would have");
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
