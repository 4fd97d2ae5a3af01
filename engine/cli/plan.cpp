#include <memory>

#include "engine/base/standard_streams.h"
#include "engine/cli/command_line.h"
#include "engine/cli/plan_report.h"
#include "engine/cli/run_file_arguments.h"
#include "engine/compile/compile.h"

namespace shardscope {

void add_plan(CLI::App& app, CommandLine& line) {
  CLI::App* command =
      app.add_subcommand("plan", "Memory per device, collectives and predicted time of a training step");
  auto arguments = std::make_shared<RunFileArguments>();
  auto as_json = std::make_shared<bool>(false), steps = std::make_shared<bool>(false);
  arguments->add_to(*command);
  CLI::Option* json = command->add_flag("--json", *as_json, "for scripts");
  command->add_flag("--steps", *steps, "forward and backward, step by step")->excludes(json);
  command->callback([&line, arguments, as_json, steps] {
    line.action = [arguments, as_json, steps] {
      Plan plan = compile(arguments->load(), host_profile());
      print_lines(*as_json ? plan_json(plan) : *steps ? plan_steps_text(plan) : plan_text(plan));
      return exit_ok;
    };
  });
}

}  // namespace shardscope
