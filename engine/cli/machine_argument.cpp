#include "engine/cli/machine_argument.h"

#include "engine/compile/file_paths.h"

namespace shardscope {

void MachineArgument::add_to(CLI::App& command) {
  command
      .add_option(
          "--machine,--profile", name,
          "plan for this machine: host, one that 'shardrun machines' lists, or a file; instead of the run file's")
      ->type_name("NAME|FILE");
}

RunConfig MachineArgument::with_machine(RunConfig config) const {
  return is_given() ? shardscope::with_machine(std::move(config), name) : config;
}

}  // namespace shardscope
