#include <memory>

#include "engine/base/error.h"
#include "engine/base/standard_streams.h"
#include "engine/cli/command_line.h"
#include "engine/cli/quantity.h"
#include "engine/cli/suggestion.h"

namespace shardscope {

namespace {

struct SuggestArguments {
  std::string parameters, memory;
  int64_t devices = 1;
  bool as_json = false;

  SuggestionRequest request() const {
    if (devices < 1 || devices > 1'000'000) {
      throw Failure(Error{"bad_argument", std::to_string(devices) + " is no number of devices",
                          at_argument("--devices"), "from 1 to 1000000"});
    }
    return {count_argument(parameters, "--params"), devices, bytes_argument(memory, "--memory")};
  }
};

}  // namespace

void add_suggest(CLI::App& app, CommandLine& line) {
  CLI::App* command = app.add_subcommand("suggest", "Memory per device of each way to split a model of a given size");
  auto arguments = std::make_shared<SuggestArguments>();
  command->add_option("--params", arguments->parameters, "parameters of the model: 175e9, 175B, 350M")
      ->type_name("COUNT")
      ->required();
  command->add_option("--devices", arguments->devices, "how many there are")->type_name("N")->required();
  command->add_option("--memory", arguments->memory, "of each device: 40GB, 40GiB")->type_name("BYTES")->required();
  command->add_flag("--json", arguments->as_json, "the same for scripts");
  line.help(command)
      .paragraph(
          "What parameters, gradients and optimizer state take on each device by data parallelism, ZeRO 1 to 3, tensor "
          "and pipeline parallelism, and which fit; beside it what the Workshop document's "
          "`select_parallelism_strategy` says, and what is wrong with that. For the best strategy of a given model on "
          "a "
          "given machine there is `shardrun search`.")
      .example("shardrun suggest --params 175e9 --devices 64 --memory 40GB", "which ways fit");
  command->callback([&line, arguments] {
    line.action = [arguments] {
      const SuggestionRequest request = arguments->request();
      print_lines(arguments->as_json ? suggestion_json(request) : suggestion_text(request));
      return exit_ok;
    };
  });
}

}  // namespace shardscope
