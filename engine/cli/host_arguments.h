#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <vector>

#include "engine/config/run_config.h"
#include "engine/plan/device_profile.h"
#include "engine/session/run_hosts.h"

namespace shardscope {

// Where the ranks of a run lie: --hosts, --hostfile and how hosts are reached. Without them, inside an allocation of
// Slurm of more than one host, these; else this host alone.
struct HostArguments {
  std::string list, file, launcher, interface;

  void add_to(CLI::App& command);
  void add_list_to(CLI::App& command);  // --hosts and --hostfile alone
  // The hosts of so many ranks, with how many each takes; empty: this host alone. Throws Failure (bad_hosts).
  std::vector<HostRanks> hosts(int ranks) const;
  // The profile of these hosts, of which each is like this one.
  DeviceProfile with_hosts(DeviceProfile profile, const RunConfig& config) const;
  // The same with how they are reached; nothing where this host is alone. `program` is shardrun.
  std::optional<RunHostsOptions> options(int ranks, const std::string& program) const;
};

}  // namespace shardscope
