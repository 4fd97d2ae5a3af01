#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/place.h"

namespace shardscope {

// A host of a run, as a person names it, and how many ranks it takes.
struct HostSlots {
  std::string name;
  std::optional<int> ranks;  // nothing: its even share of what the others leave
  bool operator==(const HostSlots&) const = default;
};

// "h0:4,h1:4" or "h0,h1"; the names as the launcher (ssh) takes them. Throws Failure (bad_hosts) at `place`.
std::vector<HostSlots> parse_host_list(std::string_view text, const Place& place = at_argument("--hosts"));
// Open MPI's format: a host a line, "h0 slots=4 max_slots=8", comments after '#'. A name that comes again adds to its
// slots. Throws Failure (bad_hosts) with FILE:line.
std::vector<HostSlots> parse_host_file(std::string_view text, const std::string& file);
// Slurm's SLURM_JOB_NODELIST, "node[01-03,07],login1", and SLURM_TASKS_PER_NODE, "4(x2),3" (empty: not said). Throws
// Failure (bad_hosts).
std::vector<HostSlots> parse_slurm_hosts(std::string_view nodes, std::string_view tasks);

// A host's ranks: `ranks` of them from `first_rank` on.
struct HostRanks {
  std::string name;
  int first_rank = 0;
  int ranks = 0;
  bool operator==(const HostRanks&) const = default;
};

// Lays the ranks of a run over hosts in their order, as many as each takes; hosts that get none are left out. Throws
// Failure (bad_hosts) at `place` when they take fewer, with the numbers.
std::vector<HostRanks> lay_over_hosts(const std::vector<HostSlots>& hosts, int ranks,
                                      const Place& place = at_argument("--hosts"));
std::vector<int> ranks_per_host(const std::vector<HostRanks>& hosts);
// "h0:4,h1:4", which parse_host_list() reads.
std::string host_list_text(const std::vector<HostRanks>& hosts);

}  // namespace shardscope
