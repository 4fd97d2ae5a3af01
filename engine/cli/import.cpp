#include <fmt/format.h>

#include <memory>

#include "engine/cli/command_line.h"
#include "engine/cli/run_file_arguments.h"
#include "engine/cli/written_run_file.h"
#include "engine/compile/compile.h"
#include "engine/compile/layer_count.h"
#include "engine/config/read_file.h"
#include "engine/config/strategy.h"
#include "engine/export/strategy_format.h"

namespace shardscope {

namespace {

struct ImportArguments {
  std::string from, file, out, run;
  int64_t devices = 0;
};

std::vector<std::string> readable_formats() {
  std::vector<std::string> names;
  for (const StrategyFormat& format : strategy_formats()) {
    if (format.read) names.push_back(format.name);
  }
  return names;
}

int import_strategy(const ImportArguments& arguments) {
  const StrategyFormat* format = find_strategy_format(arguments.from);
  if (!format || !format->read) {
    throw Failure(Error{"unknown_format", fmt::format("'{}' is nothing that can be imported", arguments.from),
                        at_argument("--from " + arguments.from), name_hint(arguments.from, readable_formats())});
  }
  RunFileArguments run;
  run.file = arguments.run;
  RunConfig config = run.load();
  const PortableStrategy read =
      format->read(read_file(arguments.file), arguments.file, arguments.devices, layer_count(config));
  if (read.batch_size > 0) {
    for (auto& [key, value] : config.data.options) {
      if (key == "batch_size") value = read.batch_size;
    }
  }
  config = with_strategy(std::move(config), read.strategy);
  if (const std::vector<Error> errors = validate(config); !errors.empty()) throw Failure(errors);
  write_run_file(config, arguments.out, "");
  return exit_ok;
}

}  // namespace

void add_import_strategy(CLI::App& app, CommandLine& line) {
  CLI::App* command = app.add_subcommand("import", "Write a run file with the strategy of another program's arguments");
  auto arguments = std::make_shared<ImportArguments>();
  command->add_option("FILE", arguments->file, "what the other program was given; - for standard input")->required();
  command->add_option("OUT", arguments->out, "run file to write; - for standard output")->required();
  command->add_option("--from", arguments->from, "megatron, torchtitan or maxtext")->required()->type_name("PROGRAM");
  command
      ->add_option(
          "--run", arguments->run,
          "run file whose model, data, optimizer and machine OUT has; its strategy, mesh and sharding are replaced")
      ->required()
      ->type_name("RUN");
  command->add_option("--devices", arguments->devices, "how many there are, where FILE does not say it")
      ->type_name("N")
      ->check(CLI::Range(1, 65536));
  line.help(command)
      .paragraph(
          "The run file RUN with the strategy and batch size that FILE says: Megatron's arguments (a script or a "
          "list), a TOML file of torchtitan, a YAML file of MaxText. What a strategy cannot say is an error at its "
          "line.")
      .values("--from", readable_formats())
      .example("shardrun import --from megatron train.sh out.json --run run.json --devices 64",
               "the strategy of a script for 64 devices");
  command->callback([&line, arguments] { line.action = [arguments] { return import_strategy(*arguments); }; });
}

}  // namespace shardscope
