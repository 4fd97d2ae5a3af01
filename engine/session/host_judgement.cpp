#include "engine/session/host_judgement.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "engine/base/loaded_code.h"
#include "engine/plan/host_memory.h"

namespace shardscope {

std::string host_title(const HostRanks& place) {
  return fmt::format("host {} (ranks {} to {})", place.name, place.first_rank, place.first_rank + place.ranks - 1);
}

std::optional<std::string> unfit_reason(const nlohmann::json& machine, int ranks, int64_t needed_bytes,
                                        int64_t checkpoint_bytes) {
  const std::string there = machine.value("code", "not known"), here = loaded_code();
  if (there != here) {
    const auto differing = [](const std::string& code) { return code.empty() ? "nothing else" : code; };
    return fmt::format("has another build of this program or its libraries: there {}, here {}; install one everywhere",
                       differing(code_not_in(there, here)), differing(code_not_in(here, there)));
  }
  const auto excess = host_memory_excess(needed_bytes, ranks, machine.at("memory_bytes"), checkpoint_bytes);
  if (excess) return fmt::format("{} ({}; {})", excess->message, excess->hint, force_hint);
  return std::nullopt;
}

std::string unfit_hosts(std::span<const JudgedHost> hosts) {
  std::vector<std::string> reasons;
  for (const JudgedHost& host : hosts) {
    if (host.unfit) reasons.push_back(fmt::format("{}: {}", host_title(host.place), *host.unfit));
  }
  return fmt::format("{}", fmt::join(reasons, "; "));
}

std::optional<std::string> judge_start(std::span<const JudgedHost> hosts, std::optional<double> waited_seconds,
                                       const std::string& note) {
  const bool all_known = std::ranges::all_of(hosts, [](const JudgedHost& host) { return host.is_ready || host.unfit; });
  std::string why = unfit_hosts(hosts);
  if (all_known) return why.empty() ? std::nullopt : std::optional(why);
  if (!waited_seconds) return std::nullopt;
  for (const JudgedHost& host : hosts) {
    if (host.is_ready || host.unfit) continue;
    why +=
        fmt::format("{}{}: its agent has not come within {:g} s (--deadline agent=SECONDS){}", why.empty() ? "" : "; ",
                    host_title(host.place), *waited_seconds, host.last_line.empty() ? "" : ": " + host.last_line);
  }
  return why + note;
}

}  // namespace shardscope
