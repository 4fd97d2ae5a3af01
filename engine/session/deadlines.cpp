#include "engine/session/deadlines.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "engine/base/error.h"
#include "engine/base/number_text.h"

namespace shardscope {

namespace {

constexpr int64_t second = 1'000'000'000;
constexpr double most_seconds = 1e8;

// What the slowest disks and memories in use do, in bytes a second.
constexpr double reserve_rate = 50e6, initialise_rate = 20e6, write_rate = 5e6;
constexpr double planning_factor = 10;
constexpr double launch_seconds = 0.25;  // of each rank, by a slow remote shell
constexpr double file_seconds = 48;

int64_t nanoseconds(double seconds) { return static_cast<int64_t>(std::min(seconds, most_seconds) * 1e9); }

int64_t& phase_limit(WatchdogLimits& limits, RankPhase phase) { return limits.phase_ns[static_cast<size_t>(phase)]; }

int64_t* find_limit(WatchdogLimits& limits, const std::string& name) {
  if (const auto phase = rank_phase(name)) return &phase_limit(limits, *phase);
  if (name == "stopped") return &limits.stopped_ns;
  if (name == "ending") return &limits.shutdown_ns;
  if (name == "stopping") return &limits.stopping_ns;
  if (name == "agent") return &limits.agent_ns;
  if (name == "host") return &limits.host_ns;
  return nullptr;
}

[[noreturn]] void refuse_deadline(const std::string& message, const std::string& hint) {
  throw Failure(Error{"bad_argument", message, at_argument("--deadline"), hint});
}

}  // namespace

WatchdogLimits::WatchdogLimits() { phase_ns.fill(11 * second); }

WatchdogLimits deadlines_of(const Plan& plan, bool reads_files, int64_t compared_bytes) {
  WatchdogLimits limits;
  const int ranks = plan.mesh.device_count();
  const double crowding = std::max(0.0, ranks / std::max(1.0, plan.machine.device.cores * 1.0) - 1);
  const double launching = std::max(crowding, launch_seconds * ranks);
  const auto bytes = static_cast<double>(plan.totals.memory_total) * ranks;
  const auto add = [&](RankPhase phase, double seconds) { phase_limit(limits, phase) += nanoseconds(seconds); };
  add(RankPhase::launching, launching);
  add(RankPhase::starting, crowding);
  add(RankPhase::connecting, launching);
  add(RankPhase::planning, planning_factor * (1 + crowding) * plan.planning_milliseconds * 1e-3);
  add(RankPhase::agreeing, crowding);
  add(RankPhase::allocating, bytes / reserve_rate);
  add(RankPhase::initialising, bytes / initialise_rate + (reads_files ? file_seconds : 0));
  add(RankPhase::initialising, static_cast<double>(compared_bytes) / initialise_rate);
  add(RankPhase::saving, bytes / write_rate + file_seconds);
  add(RankPhase::finishing, bytes / write_rate);
  for (const std::vector<Simulation::Span>& stage : plan.simulation.stages) {
    double before = 0;
    for (const Simulation::Span& span : stage) {  // with the time in which the stage waits for others
      limits.longest_step_ns = std::max(limits.longest_step_ns, nanoseconds(span.end - before));
      before = span.end;
    }
  }
  limits.stopping_ns = std::max(limits.stopping_ns, WatchdogLimits::predicted_steps * limits.longest_step_ns);
  return limits;
}

std::vector<std::string> deadline_names() {
  std::vector<std::string> names;
  for (std::string_view phase : rank_phase_names()) names.emplace_back(phase);
  names.insert(names.end(), {"stopped", "ending", "stopping", "agent", "host"});
  return names;
}

void set_deadline(WatchdogLimits& limits, const std::string& assignment) {
  const size_t equals = assignment.find('=');
  if (equals == std::string::npos) refuse_deadline(fmt::format("'{}' is not NAME=SECONDS", assignment), "training=60");
  const std::string name = assignment.substr(0, equals), text = assignment.substr(equals + 1);
  int64_t* limit = find_limit(limits, name);
  if (!limit) refuse_deadline(fmt::format("there is no deadline '{}'", name), name_hint(name, deadline_names()));
  const auto seconds = number_of<double>(text);
  if (!seconds || !(*seconds > 0 && *seconds <= most_seconds)) {
    refuse_deadline(fmt::format("'{}' is not a number of seconds above 0", text), name + "=60");
  }
  *limit = nanoseconds(*seconds);
}

}  // namespace shardscope
