#include "engine/cli/machine_argument.h"

#include "engine/compile/file_paths.h"
#include "engine/machine/chosen_machine.h"

namespace shardscope {

void MachineArgument::add_to(CLI::App& command) {
  command
      .add_option(
          "--machine,--profile", name,
          "plan for this machine: host, one that 'shardrun machines' lists, or a file; instead of the run file's")
      ->type_name("NAME|FILE");
}

RunConfig MachineArgument::with_machine(RunConfig config) const {
  if (!is_given()) return config;
  config.machine = machine_choice(name);
  return with_absolute_paths(std::move(config), ".");
}

}  // namespace shardscope
