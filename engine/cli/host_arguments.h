#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <vector>

#include "engine/session/run_hosts.h"

namespace shardscope {

// Where the ranks of a run lie: --hosts, --hostfile and how hosts are reached. Without them, inside an allocation of
// Slurm of more than one host, these; else this host alone.
struct HostArguments {
  std::string list, file, launcher, interface;

  void add_to(CLI::App& command);
  // The hosts of so many ranks, with how many each takes; empty: this host alone. Throws Failure (bad_hosts).
  std::vector<HostRanks> hosts(int ranks) const;
  // The same with how they are reached; nothing where this host is alone. `program` is shardrun.
  std::optional<RunHostsOptions> options(int ranks, const std::string& program) const;
};

std::vector<int> ranks_per_host(const std::vector<HostRanks>& hosts);

}  // namespace shardscope
