#include <memory>

#include "engine/base/output_file.h"
#include "engine/base/standard_streams.h"
#include "engine/cli/command_line.h"
#include "engine/compile/file_paths.h"
#include "engine/compile/model_run.h"
#include "engine/config/write.h"

namespace shardscope {

void add_new(CLI::App& app, CommandLine& line) {
  struct Arguments {
    std::string folder, out;
    int64_t devices = 4;
  };
  CLI::App* command = app.add_subcommand("new", "Write a run file for a model of Hugging Face, to begin with");
  auto arguments = std::make_shared<Arguments>();
  command->add_option("FOLDER", arguments->folder, "a folder with config.json, or that file")->required();
  command->add_option("OUT", arguments->out, "run file to write; - for standard output")->required();
  command->add_option("--devices", arguments->devices, "devices of its mesh")->check(CLI::Range(1, 65536));
  command->callback([&line, arguments] {
    line.action = [arguments] {
      namespace fs = std::filesystem;
      const RunConfig config =
          run_of_model(fs::absolute(arguments->folder).lexically_normal().string(), arguments->devices);
      if (arguments->out == "-") {
        print_lines(write_run_config(config));
      } else {
        const fs::path folder = fs::path(arguments->out).parent_path();
        write_new_file(arguments->out, write_run_config(with_relative_paths(config, folder)));
      }
      return exit_ok;
    };
  });
}

}  // namespace shardscope
