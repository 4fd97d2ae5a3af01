#include <memory>

#include "engine/checkpoint/stored_identity.h"
#include "engine/cli/checkpoint_arguments.h"
#include "engine/cli/command_line.h"
#include "engine/compile/compile.h"
#include "engine/config/parse.h"
#include "engine/machine/machine_file.h"
#include "engine/session/rank_group.h"
#include "engine/worker/mpi_worker.h"

namespace shardscope {

void add_rank(CLI::App& app, CommandLine& line) {
  CLI::App* command = app.add_subcommand("rank", "One rank of a training that this program has started");
  command->group("");
  auto session = std::make_shared<std::string>();
  command->add_option("--session", *session, "session directory")->envname(session_variable)->required();
  auto parameters = std::make_shared<std::string>();
  command->add_option("--parameters", *parameters, "file into which the ranks write the parameters at the end");
  auto keep_going = std::make_shared<bool>(false);
  command->add_flag("--keep-going", *keep_going, "train on where the loss is not finite");
  auto bind_cpus = std::make_shared<bool>(false);
  command->add_flag("--bind-cpus", *bind_cpus, "keep to this rank's share of its host's CPUs");
  auto checkpoints = std::make_shared<CheckpointArguments>();
  checkpoints->add_to(*command);
  command->callback([&line, session, parameters, keep_going, bind_cpus, checkpoints] {
    line.action = [&line, session, parameters, keep_going, bind_cpus, checkpoints] {
      RankOptions options;
      options.plan = [session](const Machine& machine) {
        return compile({load_run_config(*session + "/config.json"), machine});
      };
      options.machine = [session] { return load_machine(*session + "/machine.json"); };
      options.data_at_start = [session] { return read_data_identity(*session + "/data.json"); };
      options.session_directory = *session;
      options.parameter_file = *parameters;
      options.keep_going = *keep_going;
      options.bind_cpus = *bind_cpus;
      options.checkpoints = checkpoints->options();
      return run_rank(line.argc, line.argv, options);
    };
  });
}

}  // namespace shardscope
