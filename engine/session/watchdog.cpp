#include "engine/session/watchdog.h"

#include <fmt/format.h>
#include <sys/wait.h>

#include <algorithm>
#include <csignal>
#include <limits>

#include "engine/base/units.h"
#include "engine/session/processes.h"

namespace shardscope {

namespace {

constexpr int64_t never = std::numeric_limits<int64_t>::max();

// Of the ranks for which `matters`, the one with the least `time`; -1: none.
template <class Matters, class Time>
int earliest(std::span<const RankObservation> ranks, Matters matters, Time time) {
  int first = -1;
  for (int i = 0; i < static_cast<int>(ranks.size()); ++i) {
    if (matters(ranks[i]) && (first < 0 || time(i) < time(first))) first = i;
  }
  return first;
}

// An error of the rank itself, known to have come from no peer.
bool is_root_cause(const RankObservation& rank) { return rank.entry.failed_ns != 0 && !rank.entry.by_peer; }
bool has_come(const RankObservation& rank) { return rank.process.pid != 0; }
bool has_vanished(const RankObservation& rank) { return has_ended(rank) && !has_finished(rank) && !has_failed(rank); }

bool names_a_rank(const RunObservation& run) {
  return run.report->names_culprit() && *run.report->rank < static_cast<int>(run.ranks.size());
}

// What mpirun says of a rank may be newer than the look at it, which tells what it was killed for.
bool is_named_before_seen(const RunObservation& run) {
  if (!names_a_rank(run)) return false;
  const RankObservation& named = run.ranks[*run.report->rank];
  return has_come(named) && !has_ended(named) && !has_failed(named);
}

int64_t failed_ns(const RankObservation& rank) {
  if (rank.entry.failed_ns != 0) return rank.entry.failed_ns;
  return rank.status ? rank.status->failed_ns : 0;
}

bool ended_badly(const RankObservation& rank) { return rank.exit_status.value_or(0) != 0; }

bool all_are_done(const RunObservation& run) {
  return !run.report->names_culprit() && std::ranges::all_of(run.ranks, is_done);
}

// Of ranks that vanished at the same time: one that was ended by the others' end comes last.
int innocence(const RankObservation& rank) {
  if (!ended_badly(rank)) return 1;
  return WIFSIGNALED(*rank.exit_status) && WTERMSIG(*rank.exit_status) == SIGTERM ? 2 : 0;
}

}  // namespace

Watchdog::Watchdog(uint64_t plan_hash, PlanStepNames plan_steps, const WatchdogLimits& limits, MemoryFacts memory)
    : plan_hash_(plan_hash),
      plan_steps_(std::move(plan_steps)),
      limits_(limits),
      memory_(memory),
      stall_(limits_, plan_steps_) {}

std::optional<FailureMessage> Watchdog::look(const RunObservation& run) {
  if (decided_) return std::nullopt;
  gone_since_.resize(run.ranks.size(), never);
  for (size_t i = 0; i < run.ranks.size(); ++i) {
    if (has_ended(run.ranks[i])) gone_since_[i] = std::min(gone_since_[i], run.now_ns);
  }
  std::optional<FailureMessage> failure = decide(run);
  decided_ = failure.has_value();
  return failure;
}

std::vector<std::string> Watchdog::take_notices() { return std::exchange(notices_, {}); }

std::optional<FailureMessage> Watchdog::decide(const RunObservation& run) {
  if (all_are_done(run)) {
    look_at_idle_launcher(run);
    return std::nullopt;
  }
  if (auto failure = halted(run)) return failure;
  if (auto failure = foreign_plan(run)) return failure;
  if (auto failure = hanging_shutdown(run)) return failure;
  if (is_abnormal(run)) {
    if (!abnormal_since_) abnormal_since_ = run.now_ns;
    const bool reported = (run.report->names_culprit() || run.wait_status) && !is_named_before_seen(run);
    const bool received = reported || std::any_of(run.ranks.begin(), run.ranks.end(), is_root_cause);
    const int64_t patience_ns = limits_.report_ns * (awaits_word(run) ? WatchdogLimits::late_reports : 1);
    if (received || run.now_ns - *abnormal_since_ > patience_ns) return verdict(run);
    return std::nullopt;
  }
  if (run.wait_status || waits_for_debugger(run)) {
    stall_.restart();
    return std::nullopt;
  }
  auto failure = stall_.look(run.ranks, run.now_ns);
  lost_a_rank_ |= failure.has_value();
  return failure;
}

std::optional<FailureMessage> Watchdog::halted(const RunObservation& run) {
  halted_since_.resize(run.ranks.size() + 1, never);
  const auto too_long = [&](size_t i, char state) {
    halted_since_[i] = is_halted(state) ? std::min(halted_since_[i], run.now_ns) : never;
    return is_halted(state) && run.now_ns - halted_since_[i] > limits_.stopped_ns;
  };
  constexpr std::string_view option = " (--deadline stopped=SECONDS)";
  const auto words = [](char state) {
    return state == frozen_process ? "has been frozen by its control group" : "has been stopped by a signal";
  };
  for (size_t i = 0; i < run.ranks.size(); ++i) {
    const char state = run.ranks[i].process_state;
    if (!too_long(i, state)) continue;
    FailureMessage failure = lost(run, static_cast<int>(i), words(state), "");
    failure.message += option;
    return failure;
  }
  if (!run.wait_status && too_long(run.ranks.size(), run.launcher_state)) {
    return FailureMessage{-1, "", "", fmt::format("mpirun {}{}", words(run.launcher_state), option)};
  }
  return std::nullopt;
}

std::optional<FailureMessage> Watchdog::foreign_plan(const RunObservation& run) const {
  for (size_t i = 0; i < run.ranks.size(); ++i) {
    const auto& status = run.ranks[i].status;
    if (!status || status->plan_hash == 0 || status->plan_hash == plan_hash_) continue;
    return FailureMessage{static_cast<int>(i), "", "",
                          fmt::format("rank {} holds another plan ({:016x}) than the one that was started ({:016x}); "
                                      "use the same build everywhere",
                                      i, status->plan_hash, plan_hash_)};
  }
  return std::nullopt;
}

std::optional<FailureMessage> Watchdog::hanging_shutdown(const RunObservation& run) {
  if (run.wait_status || !std::all_of(run.ranks.begin(), run.ranks.end(), has_finished)) return std::nullopt;
  if (!finished_since_) finished_since_ = run.now_ns;
  if (run.now_ns - *finished_since_ <= limits_.shutdown_ns) return std::nullopt;
  auto alive = std::find_if_not(run.ranks.begin(), run.ranks.end(), has_ended);
  int rank = alive == run.ranks.end() ? -1 : static_cast<int>(alive - run.ranks.begin());
  std::string who = rank < 0 ? "mpirun" : fmt::format("rank {}", rank);
  return FailureMessage{rank, "", rank < 0 ? "" : current_op(*alive, plan_steps_.of(rank)),
                        fmt::format("{} did not exit within {} s of the end of training (--deadline ending=SECONDS)",
                                    who, static_cast<double>(limits_.shutdown_ns) / 1e9)};
}

void Watchdog::look_at_idle_launcher(const RunObservation& run) {
  if (!finished_since_) finished_since_ = run.now_ns;
  const bool is_late = !run.wait_status && run.now_ns - *finished_since_ > limits_.shutdown_ns;
  const bool is_bad = run.wait_status.value_or(0) != 0;
  if (abandons_launcher_ || (!is_late && !is_bad)) return;
  abandons_launcher_ = true;
  const auto what = [&]() -> std::string {
    if (is_late)
      return fmt::format("did not exit within {} s (--deadline ending=SECONDS) and is ended",
                         static_cast<double>(limits_.shutdown_ns) / 1e9);
    if (WIFSIGNALED(*run.wait_status)) return "was killed by " + signal_name(WTERMSIG(*run.wait_status));
    return fmt::format("ended with exit code {}", WEXITSTATUS(*run.wait_status));
  };
  notices_.push_back(
      fmt::format("warning: mpirun {} after every rank had finished; nothing of the run is lost", what()));
}

// Of a rank that mpirun has waited for, it will say how that ended; unless the kernel tells us.
bool Watchdog::awaits_word(const RunObservation& run) const {
  const int first = first_vanished(run);
  return !run.wait_status && first >= 0 && !run.ranks[first].exit_status && run.ranks[first].process_state == 0;
}

int Watchdog::first_vanished(const RunObservation& run) const {
  return earliest(run.ranks, has_vanished, [&](int i) { return std::pair(gone_since_[i], innocence(run.ranks[i])); });
}

// By the kernel's word. mpirun ends ranks by SIGTERM, then by SIGKILL, which several get at once.
bool Watchdog::was_killed_by_others(const RunObservation& run, int rank) const {
  const auto signal_of = [&](int i) {
    const int status = run.ranks[i].exit_status.value_or(0);
    return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  };
  if (signal_of(rank) != SIGKILL) return signal_of(rank) != 0 && signal_of(rank) != SIGTERM;
  for (int i = 0; i < static_cast<int>(run.ranks.size()); ++i) {
    if (i != rank && gone_since_[i] == gone_since_[rank] && signal_of(i) == SIGKILL) return false;
  }
  return true;
}

bool Watchdog::is_abnormal(const RunObservation& run) const {
  if (run.report->names_culprit()) return true;
  bool all_finished = std::all_of(run.ranks.begin(), run.ranks.end(), has_finished);
  if (run.wait_status) return *run.wait_status != 0 || !all_finished;
  return std::any_of(run.ranks.begin(), run.ranks.end(),
                     [](const RankObservation& rank) { return has_failed(rank) || has_vanished(rank); });
}

bool Watchdog::waits_for_debugger(const RunObservation& run) {
  debugged_.resize(run.ranks.size());
  bool waits = false;
  for (size_t i = 0; i < run.ranks.size(); ++i) {
    if (run.ranks[i].process_state != 't') continue;
    waits = true;
    if (debugged_[i]) continue;
    debugged_[i] = true;
    notices_.push_back(
        fmt::format("rank {} (process {}) is held by a debugger; the run waits for it without a deadline", i,
                    run.ranks[i].process.pid));
  }
  return waits;
}

FailureMessage Watchdog::verdict(const RunObservation& run) {
  const ExitReport& report = *run.report;
  const int root = earliest(run.ranks, is_root_cause, [&](int i) { return run.ranks[i].entry.failed_ns; });
  if (root >= 0) return own_error(run, root);

  const bool known = names_a_rank(run);
  if (known && report.signal) return killed(run, *report.rank, *report.signal);
  if (known && report.exit_code > 128 && report.exit_code <= 192)
    return killed(run, *report.rank, *report.exit_code - 128);
  if (known && report.exit_code && !has_failed(run.ranks[*report.rank])) {
    return lost(run, *report.rank, fmt::format("exited with code {}", *report.exit_code));
  }
  const int first_gone = first_vanished(run);
  const int first_failed = earliest(run.ranks, has_failed, [&](int i) { return failed_ns(run.ranks[i]); });
  const bool peers_complain = first_failed >= 0 && run.ranks[first_failed].entry.by_peer;
  if (first_failed >= 0 && !(peers_complain && first_gone >= 0)) return own_error(run, first_failed);
  if (run.wait_status && WIFSIGNALED(*run.wait_status)) {
    std::string signal = signal_name(WTERMSIG(*run.wait_status));
    return {-1, signal, "", "mpirun was killed by " + signal};
  }
  // An mpirun that was asked to end ends its ranks, and names none.
  const int code = run.wait_status ? WEXITSTATUS(*run.wait_status) : 0;
  const bool by_signal = code > 128 && code <= 192;
  // One that dies before its main may never have been seen. Others have come by then.
  const auto unseen = std::ranges::find_if_not(run.ranks, has_come);
  if (by_signal && unseen != run.ranks.end() && std::ranges::any_of(run.ranks, has_come)) {
    return killed(run, static_cast<int>(unseen - run.ranks.begin()), code - 128);
  }
  const bool is_reported = code == 0 || by_signal || peers_complain || code == ExitReport::lost_daemon;
  if (first_gone >= 0 && (is_reported || was_killed_by_others(run, first_gone))) {
    const int status = run.ranks[first_gone].exit_status.value_or(0);
    if (WIFSIGNALED(status)) return killed(run, first_gone, WTERMSIG(status));
    if (by_signal) return killed(run, first_gone, code - 128);
    return lost(run, first_gone, status == 0 ? "died" : fmt::format("exited with code {}", WEXITSTATUS(status)));
  }
  return {-1, "", "", fmt::format("mpirun ended with exit code {} before every rank had finished", code)};
}

FailureMessage Watchdog::lost(const RunObservation& run, int rank, const std::string& what, const std::string& signal) {
  lost_a_rank_ = true;
  const RankObservation& seen = run.ranks[rank];
  return {rank, signal, current_op(seen, plan_steps_.of(rank)),
          fmt::format("rank {} {}{}", rank, what, place_of(seen, plan_steps_.of(rank)))};
}

FailureMessage Watchdog::killed(const RunObservation& run, int rank, int signal) {
  const std::string name = signal_name(signal);
  const bool out_of_memory = signal == SIGKILL && run.ranks[rank].out_of_memory;
  if (!out_of_memory) return lost(run, rank, "was killed by " + name, name);
  FailureMessage failure = lost(run, rank, "was killed by the kernel for lack of memory (SIGKILL)", name);
  if (memory_.rank_bytes == 0 || memory_.available_bytes == 0) return failure;
  const double copied = double(memory_.checkpoint_bytes);
  failure.message += fmt::format("; the plan wants {} a rank{}, {} for all, and {} can be used",
                                 bytes_text(double(memory_.rank_bytes)),
                                 copied > 0 ? fmt::format(" and {} for checkpoints", bytes_text(copied)) : "",
                                 bytes_text(double(memory_.rank_bytes) * double(run.ranks.size()) + copied),
                                 bytes_text(double(memory_.available_bytes)));
  return failure;
}

FailureMessage Watchdog::own_error(const RunObservation& run, int rank) const {
  const RankObservation& seen = run.ranks[rank];
  return {rank, "", current_op(seen, plan_steps_.of(rank)), fmt::format("rank {} failed: {}", rank, own_words(seen))};
}

}  // namespace shardscope
