#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>

#include "engine/base/output_file.h"
#include "engine/base/standard_streams.h"
#include "engine/cli/command_line.h"
#include "engine/cli/run_file_arguments.h"
#include "engine/cli/written_run_file.h"
#include "engine/compile/compile.h"
#include "engine/compile/layer_count.h"
#include "engine/compile/model_run.h"
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

// In the place of the option's value, where it has one.
void set_option(OptionList& options, const std::string& name, int64_t value) {
  const auto found = std::ranges::find(options, name, [](const auto& option) { return option.first; });
  if (found == options.end()) options.emplace_back(name, value);
  else found->second = value;
}

// A config.json beside a run file: out.json has out.config.json. Removed again unless kept.
class ModelFile {
 public:
  ModelFile(const std::string& out, const std::string& config)
      : path_(std::filesystem::absolute(std::filesystem::path(out).replace_extension(".config.json"))
                  .lexically_normal()) {
    check_late_output(out, Existing::refuse, {});
    write_new_file(path_.string(), config);
  }
  ~ModelFile() {
    std::error_code ignored;
    if (!is_kept_) std::filesystem::remove(path_, ignored);
  }
  ModelFile(const ModelFile&) = delete;
  ModelFile& operator=(const ModelFile&) = delete;

  std::string path() const { return path_.string(); }
  void keep() { is_kept_ = true; }

 private:
  std::filesystem::path path_;
  bool is_kept_ = false;
};

RunConfig with_portable_strategy(RunConfig config, const PortableStrategy& portable) {
  if (portable.batch_size > 0) set_option(config.data.options, "batch_size", portable.batch_size);
  config = with_strategy(std::move(config), portable.strategy);
  if (const std::vector<Error> errors = validate(config); !errors.empty()) throw Failure(errors);
  return config;
}

// A run of the model that FILE describes, which goes into a file beside OUT.
void import_with_model(const ImportArguments& arguments, const StrategyFormat& format, const std::string& text) {
  if (arguments.out == standard_stream) {
    throw Failure(Error{"no_model_file", "the model that FILE describes is written beside OUT", at_argument("OUT"),
                        "a file, or --run RUN with a run file that has the model"});
  }
  const PortableModel model = format.read_model(text, arguments.file);
  ModelFile file(arguments.out, model.config);
  RunConfig config = run_of_model(file.path(), 1);
  config.precision = model.precision;
  set_option(config.data.options, "sequence_length", model.sequence_length);
  config = with_portable_strategy(config, format.read(text, arguments.file, arguments.devices, layer_count(config)));
  write_run_file(config, arguments.out, "");
  file.keep();
}

int import_strategy(const ImportArguments& arguments) {
  const StrategyFormat* format = find_strategy_format(arguments.from);
  if (!format || !format->read) {
    throw Failure(Error{"unknown_format", fmt::format("'{}' is nothing that can be imported", arguments.from),
                        at_argument("--from " + arguments.from), name_hint(arguments.from, readable_formats())});
  }
  const std::string text = read_file(arguments.file);
  if (arguments.run.empty()) {
    import_with_model(arguments, *format, text);
    return exit_ok;
  }
  RunFileArguments run;
  run.file = arguments.run;
  const RunConfig config = run.load();
  write_run_file(
      with_portable_strategy(config, format->read(text, arguments.file, arguments.devices, layer_count(config))),
      arguments.out, "");
  return exit_ok;
}

}  // namespace

void add_import_strategy(CLI::App& app, CommandLine& line) {
  CLI::App* command =
      app.add_subcommand("import", "Write a run file with the model and strategy of another program's arguments");
  auto arguments = std::make_shared<ImportArguments>();
  command->add_option("FILE", arguments->file, "what the other program was given; - for standard input")->required();
  command->add_option("OUT", arguments->out, "run file to write; - for standard output")
      ->required()
      ->transform(output_name);
  command->add_option("--from", arguments->from, "megatron, torchtitan or maxtext")->required()->type_name("PROGRAM");
  command
      ->add_option(
          "--run", arguments->run,
          "run file whose model, data, optimizer and machine OUT has; its strategy, mesh and sharding are replaced")
      ->type_name("RUN");
  command->add_option("--devices", arguments->devices, "how many there are, where FILE does not say it")
      ->type_name("N")
      ->check(CLI::Range(1, 65536));
  line.help(command)
      .paragraph(
          "A run file with the strategy, batch size and model that FILE says: Megatron's arguments (a script or a "
          "list), a TOML file of torchtitan, a YAML file of MaxText. The model goes into OUT's name with the ending "
          ".config.json. With --run it is that of RUN, of which all but strategy and batch size is kept. What a "
          "strategy or a model cannot say is an error at its line.")
      .values("--from", readable_formats())
      .example("shardrun import --from torchtitan llama3_8b.toml out.json --devices 64",
               "model and strategy, on 64 devices")
      .example("shardrun import --from megatron train.sh out.json --run run.json --devices 64",
               "the strategy of a script for 64 devices, with the model of run.json");
  command->callback([&line, arguments] { line.action = [arguments] { return import_strategy(*arguments); }; });
}

}  // namespace shardscope
