#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>

#include "engine/config/host_list.h"

// Whether the hosts of a run can have their ranks, and what is said where they cannot. Pure.
namespace shardscope {

struct JudgedHost {
  HostRanks place;
  bool is_ready = false;
  std::optional<std::string> unfit;  // why it cannot have its ranks
  std::string last_line;             // that its launcher wrote
};

// "host b (ranks 4 to 7)"
std::string host_title(const HostRanks& place);

// Why a machine, as its agent describes it (HostFrameKind::ready), cannot have `ranks` ranks: it has another build of
// the program, or less memory than `needed_bytes` a rank and `checkpoint_bytes` for all of them; 0: any memory will do.
std::optional<std::string> unfit_reason(const nlohmann::json& machine, int ranks, int64_t needed_bytes,
                                        int64_t checkpoint_bytes = 0);

// What is known of hosts that are unfit, each with its reason: "host a (ranks 0 to 3): ...; host b ...: ...".
std::string unfit_hosts(std::span<const JudgedHost> hosts);

// Why the run cannot start: all hosts are known and some are unfit; or their time is over (`waited_seconds`), then with
// those that have not come. `note` (AgentPort::note()) ends the sentence about these.
std::optional<std::string> judge_start(std::span<const JudgedHost> hosts, std::optional<double> waited_seconds,
                                       const std::string& note);

}  // namespace shardscope
