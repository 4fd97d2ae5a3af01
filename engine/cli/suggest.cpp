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
  CLI::App* command = app.add_subcommand(
      "suggest", "Memory that each way to split a model takes, beside what a document's rule of thumb says");
  auto arguments = std::make_shared<SuggestArguments>();
  command->add_option("--params", arguments->parameters, "parameters of the model: 175e9, 175B, 350M")->required();
  command->add_option("--devices", arguments->devices, "how many there are")->required();
  command->add_option("--memory", arguments->memory, "of each device: 40GB, 40GiB")->required();
  command->add_flag("--json", arguments->as_json, "for scripts");
  command->callback([&line, arguments] {
    line.action = [arguments] {
      const SuggestionRequest request = arguments->request();
      print_lines(arguments->as_json ? suggestion_json(request) : suggestion_text(request));
      return exit_ok;
    };
  });
}

}  // namespace shardscope
