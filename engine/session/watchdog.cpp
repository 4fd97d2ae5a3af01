#include "engine/session/watchdog.h"

#include <fmt/format.h>
#include <sys/wait.h>

#include <algorithm>
#include <csignal>
#include <limits>

#include "engine/session/processes.h"

namespace shardscope {

namespace {

constexpr int64_t never = std::numeric_limits<int64_t>::max();

bool is_gone(const RankObservation& rank) {
  return rank.status && (rank.process == 0 || rank.process == 'Z' || rank.process == 'X');
}

bool has_finished(const RankObservation& rank) { return rank.status && rank.status->state == RankState::finished; }
bool has_failed(const RankObservation& rank) { return rank.status && rank.status->state == RankState::failed; }

std::optional<int> ending_signal(int wait_status) {
  if (WIFSIGNALED(wait_status)) return WTERMSIG(wait_status);
  if (WIFEXITED(wait_status) && WEXITSTATUS(wait_status) > 128) return WEXITSTATUS(wait_status) - 128;
  return std::nullopt;
}

// What a rank said of itself ("rank 3: ...", "rank 3, all_gather: ..."), without its name.
std::string without_speaker(int rank, const std::string& text) {
  const std::string speaker = fmt::format("rank {}", rank);
  for (const char* end : {": ", ", "})
    if (text.starts_with(speaker + end)) return text.substr(speaker.size() + 2);
  return text;
}

}  // namespace

Watchdog::Watchdog(uint64_t plan_hash, std::vector<PlanStepName> plan_steps, WatchdogLimits limits)
    : plan_hash_(plan_hash), plan_steps_(std::move(plan_steps)), limits_(limits) {}

std::optional<FailureMessage> Watchdog::look(const RunObservation& run) {
  if (decided_) return std::nullopt;
  stopped_since_.resize(run.ranks.size(), never);
  gone_since_.resize(run.ranks.size(), never);
  for (size_t i = 0; i < run.ranks.size(); ++i) {
    if (is_gone(run.ranks[i])) gone_since_[i] = std::min(gone_since_[i], run.now_ns);
  }
  std::optional<FailureMessage> failure = stopped_rank(run);
  if (!failure) failure = foreign_plan(run);
  if (!failure) failure = hanging_shutdown(run);
  if (!failure && is_abnormal(run)) {
    if (!abnormal_since_) abnormal_since_ = run.now_ns;
    bool heard = run.report->names_culprit() || run.wait_status;
    if (heard || run.now_ns - *abnormal_since_ > limits_.report_ns) failure = verdict(run);
  }
  decided_ = failure.has_value();
  return failure;
}

std::optional<FailureMessage> Watchdog::stopped_rank(const RunObservation& run) {
  for (size_t i = 0; i < run.ranks.size(); ++i) {
    bool stopped = run.ranks[i].process == 'T' || run.ranks[i].process == 't';
    stopped_since_[i] = stopped ? std::min(stopped_since_[i], run.now_ns) : never;
    if (stopped && run.now_ns - stopped_since_[i] > limits_.stopped_ns) {
      return describe(run, static_cast<int>(i), SIGSTOP, std::nullopt);
    }
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
  auto alive = std::find_if_not(run.ranks.begin(), run.ranks.end(), is_gone);
  int rank = alive == run.ranks.end() ? -1 : static_cast<int>(alive - run.ranks.begin());
  std::string who = rank < 0 ? "mpirun" : fmt::format("rank {}", rank);
  return FailureMessage{rank, "", rank < 0 ? "" : op_name(*alive),
                        fmt::format("{} did not exit within {} s of the end of training", who,
                                    static_cast<double>(limits_.shutdown_ns) / 1e9)};
}

bool Watchdog::is_abnormal(const RunObservation& run) {
  if (run.report->names_culprit()) return true;
  bool all_finished = std::all_of(run.ranks.begin(), run.ranks.end(), has_finished);
  if (run.wait_status) return *run.wait_status != 0 || !all_finished;
  return std::any_of(run.ranks.begin(), run.ranks.end(), [](const RankObservation& rank) {
    return has_failed(rank) || (is_gone(rank) && !has_finished(rank));
  });
}

// A rank that says itself why it failed outranks mpirun's bare exit code, and of several the first one: the others
// failed because of it. A death by signal outranks all, since peers of the dead complain too.
FailureMessage Watchdog::verdict(const RunObservation& run) const {
  const ExitReport& report = *run.report;
  bool known = report.rank && *report.rank < static_cast<int>(run.ranks.size());
  if (known && report.signal) return describe(run, *report.rank, report.signal, std::nullopt);
  if (known && report.exit_code > 128) return describe(run, *report.rank, *report.exit_code - 128, std::nullopt);

  int first_failed = -1, first_gone = -1;
  for (int i = 0; i < static_cast<int>(run.ranks.size()); ++i) {
    const RankObservation& rank = run.ranks[i];
    if (has_failed(rank)) {
      if (first_failed < 0 || rank.status->failed_ns < run.ranks[first_failed].status->failed_ns) first_failed = i;
    } else if (is_gone(rank) && !has_finished(rank)) {
      if (first_gone < 0 || gone_since_[i] < gone_since_[first_gone]) first_gone = i;
    }
  }
  if (known && report.exit_code && !has_failed(run.ranks[*report.rank])) {
    return describe(run, *report.rank, std::nullopt, report.exit_code);
  }
  if (first_failed >= 0) return describe(run, first_failed, std::nullopt, std::nullopt);
  if (run.wait_status && WIFSIGNALED(*run.wait_status)) {
    std::string signal = signal_name(WTERMSIG(*run.wait_status));
    return {-1, signal, "", "mpirun was killed by " + signal};
  }
  if (first_gone >= 0) {
    return describe(run, first_gone, run.wait_status ? ending_signal(*run.wait_status) : std::nullopt, std::nullopt);
  }
  int code = run.wait_status ? WEXITSTATUS(*run.wait_status) : 0;
  return {-1, "", "", fmt::format("mpirun ended with exit code {} before every rank had finished", code)};
}

FailureMessage Watchdog::describe(const RunObservation& run, int rank, std::optional<int> signal,
                                  std::optional<int> exit_code) const {
  const RankObservation& seen = run.ranks[rank];
  FailureMessage failure{rank, signal ? signal_name(*signal) : "", op_name(seen), fmt::format("rank {} ", rank)};
  if (signal == SIGSTOP) failure.message += "has been stopped (SIGSTOP)";
  else if (signal) failure.message += "was killed by " + failure.signal;
  else if (exit_code) failure.message += fmt::format("exited with code {}", *exit_code);
  else if (has_failed(seen)) failure.message += "failed: " + without_speaker(rank, seen.status->error_text);
  else failure.message += "died";
  if (has_failed(seen) && !signal && !exit_code) return failure;
  if (!seen.status) failure.message += " before it could start";
  else if (has_finished(seen)) failure.message += " after the end of training";
  else if (seen.status->training_step < 0) failure.message += " before the first training step";
  else failure.message += fmt::format(" in training step {}", seen.status->training_step);
  if (!failure.last_op.empty() && !has_finished(seen)) failure.message += fmt::format(", at '{}'", failure.last_op);
  return failure;
}

std::string Watchdog::op_name(const RankObservation& rank) const {
  if (!rank.status || rank.status->plan_step < 0) return "";
  auto index = static_cast<size_t>(rank.status->plan_step);
  return index < plan_steps_.size() ? plan_steps_[index].name : fmt::format("plan step {}", index);
}

}  // namespace shardscope
