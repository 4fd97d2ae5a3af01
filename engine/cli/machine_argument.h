#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "engine/config/run_config.h"

namespace shardscope {

// --machine NAME or FILE (in earlier versions --profile): what a plan is made for. Without it, what the
// run file says.
struct MachineArgument {
  std::string name;

  void add_to(CLI::App& command);
  bool is_given() const { return !name.empty(); }
  // The config with this machine in place of its own, where it is given. A file is relative to where the program runs.
  RunConfig with_machine(RunConfig config) const;
};

}  // namespace shardscope
