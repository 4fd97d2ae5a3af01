#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <vector>

#include "engine/config/run_config.h"
#include "engine/session/run_hosts.h"

namespace shardscope {

// Where the ranks of a run lie: --hosts, --hostfile and how hosts are reached. Without them, inside an allocation of
// Slurm of more than one host, these; else the run file's; else this host alone.
struct HostArguments {
  std::string list, file, launcher, interface;

  void add_to(CLI::App& command);
  void add_list_to(CLI::App& command);  // --hosts and --hostfile alone
  // The config with these hosts in place of its own, where any are named. Throws Failure (bad_hosts).
  RunConfig with_hosts(RunConfig config) const;
  // The config's hosts and how they are reached; nothing where this host is alone. `program` is shardrun.
  std::optional<RunHostsOptions> options(const RunConfig& config, const std::string& program) const;

 private:
  // The hosts of so many ranks, with how many each takes; empty: none are named.
  std::vector<HostRanks> hosts(int ranks) const;
};

}  // namespace shardscope
