#include <memory>
#include <string>
#include <vector>

#include "engine/base/standard_streams.h"
#include "engine/cli/command_line.h"
#include "engine/cli/written_run_file.h"
#include "engine/compile/model_run.h"

namespace shardscope {

void add_new(CLI::App& app, CommandLine& line) {
  struct Arguments {
    std::string folder, out;
    int64_t devices = 4;
    std::vector<std::string> ignore;
  };
  CLI::App* command = app.add_subcommand("new", "Write a run file for a model of Hugging Face");
  auto arguments = std::make_shared<Arguments>();
  command->add_option("FOLDER", arguments->folder, "a folder with config.json, or that file")->required();
  command->add_option("OUT", arguments->out, "run file to write; - for standard output")
      ->required()
      ->transform(output_name);
  command->add_option("--devices", arguments->devices, "devices of its mesh")
      ->type_name("N")
      ->check(CLI::Range(1, 65536));
  command->add_option("--ignore", arguments->ignore, "field of config.json that may be unknown; may be repeated")
      ->type_name("FIELD")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  line.help(command)
      .paragraph(
          "A run file for the model that FOLDER's config.json describes: mesh, sharding, random tokens, AdamW. "
          "docs/run-file.md says which models there are.")
      .example("shardrun new models/Qwen3-0.6B run.json --devices 8", "for eight devices")
      .example("shardrun new models/mine run.json --ignore rope_scaling.note",
               "of a config.json with a field that transformers does not have");
  command->callback([&line, arguments] {
    line.action = [arguments] {
      namespace fs = std::filesystem;
      const RunConfig config = run_of_model(fs::absolute(arguments->folder).lexically_normal().string(),
                                            arguments->devices, arguments->ignore);
      write_run_file(config, arguments->out);
      return exit_ok;
    };
  });
}

}  // namespace shardscope
