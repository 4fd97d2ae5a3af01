#include "engine/cli/machine_argument.h"

#include "engine/machine/chosen_machine.h"
#include "engine/machine/host_machine.h"

namespace shardscope {

void MachineArgument::add_to(CLI::App& command) {
  command
      .add_option("--machine,--profile", name,
                  "plan for this machine: host, or a machine's file; instead of the run file's")
      ->type_name("NAME|FILE");
}

RunConfig MachineArgument::with_machine(RunConfig config) const {
  if (is_given()) config.machine = machine_choice(name);
  return config;
}

std::string MachineArgument::file() const { return !is_given() || name == host_name ? machine_path().string() : name; }

}  // namespace shardscope
