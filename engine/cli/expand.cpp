#include <memory>

#include "engine/base/standard_streams.h"
#include "engine/cli/command_line.h"
#include "engine/cli/run_file_arguments.h"
#include "engine/cli/written_run_file.h"

namespace shardscope {

void add_expand(CLI::App& app, CommandLine& line) {
  CLI::App* command = app.add_subcommand("expand", "Write a strategy out as mesh, sharding, pipeline and schedule");
  auto arguments = std::make_shared<RunFileArguments>();
  auto out = std::make_shared<std::string>("-");
  arguments->add_to(*command);
  command->add_option("OUT", *out, "run file to write; without it, or -, standard output")->transform(output_name);
  line.help(command)
      .paragraph(
          "The run file with what its strategy stands for in its place (docs/run-file.md). Its plan is the same, "
          "and has the same hash.")
      .example("shardrun expand run.json expanded.json", "with mesh, sharding, pipeline and schedule");
  command->callback([&line, arguments, out] {
    line.action = [arguments, out] {
      RunConfig config = arguments->load();
      config.strategy.reset();
      write_run_file(config, *out, std::filesystem::path(arguments->file).parent_path());
      return exit_ok;
    };
  });
}

}  // namespace shardscope
