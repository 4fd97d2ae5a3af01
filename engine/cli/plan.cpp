#include <memory>

#include "engine/base/standard_streams.h"
#include "engine/cli/command_line.h"
#include "engine/cli/host_arguments.h"
#include "engine/cli/plan_report.h"
#include "engine/cli/run_file_arguments.h"
#include "engine/compile/compile.h"

namespace shardscope {

void add_plan(CLI::App& app, CommandLine& line) {
  CLI::App* command =
      app.add_subcommand("plan", "Memory per device, collectives and predicted time of a training step");
  auto arguments = std::make_shared<RunFileArguments>();
  auto hosts = std::make_shared<HostArguments>();
  auto as_json = std::make_shared<bool>(false), steps = std::make_shared<bool>(false);
  arguments->add_to(*command);
  hosts->add_list_to(*command);
  CLI::Option* json = command->add_flag("--json", *as_json, "for scripts");
  command->add_flag("--steps", *steps, "forward and backward, step by step")->excludes(json);
  command->callback([&line, arguments, hosts, as_json, steps] {
    line.action = [arguments, hosts, as_json, steps] {
      const RunConfig config = arguments->load();
      const Plan plan = compile(config, hosts->with_hosts(host_profile(), config));
      print_lines(*as_json ? plan_json(plan) : *steps ? plan_steps_text(plan) : plan_text(plan));
      return exit_ok;
    };
  });
}

}  // namespace shardscope
