#include "engine/cli/machine_argument.h"

#include "engine/compile/file_paths.h"

namespace shardscope {

void MachineArgument::add_to(CLI::App& command) {
  command
      .add_option(
          "--machine,--profile", name,
          "plan for this machine instead of the run file's: `host`, one that `shardrun machines` lists, or a file "
          "(resources/machine.schema.json). `--profile` is the former name")
      ->type_name("NAME|FILE");
}

RunConfig MachineArgument::with_machine(RunConfig config) const {
  return is_given() ? shardscope::with_machine(std::move(config), name) : config;
}

}  // namespace shardscope
