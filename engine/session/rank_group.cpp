#include "engine/session/rank_group.h"

#include <unistd.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <utility>

#include "engine/base/control_group.h"
#include "engine/base/error.h"
#include "engine/session/processes.h"
#include "engine/session/telemetry.h"

namespace shardscope {

namespace {

constexpr int64_t scan_interval_ns = 250'000'000, launch_scan_interval_ns = 50'000'000;
constexpr int64_t ranks_ending_ns = 2'000'000'000;
const std::string mark_name = session_variable;

ProcessId identify(int pid) {
  const ProcessObservation observation = look_at_process(pid);
  return observation.presence == ProcessObservation::Presence::there ? observation.info.id : ProcessId{};
}

std::optional<int> rank_with_pid(int pid) {
  const std::string text = ProcessTree::environment_of(pid, "OMPI_COMM_WORLD_RANK");
  int rank = -1;
  const bool is_rank = std::from_chars(text.data(), text.data() + text.size(), rank).ec == std::errc{};
  return is_rank ? std::optional(rank) : std::nullopt;
}

ChildProcess::Environment of_session(const std::string& directory, ChildProcess::Environment environment) {
  environment.insert(environment.end(), {{"TMPDIR", directory + "/tmp"}, {mark_name, directory}});
  return environment;
}

}  // namespace

RankGroup::RankGroup(const std::vector<std::string>& command, const std::string& session_directory,
                     std::vector<int> ranks, ChildProcess::Environment environment)
    : child_(command, of_session(session_directory, std::move(environment)), cgroup_.entrance()),
      tree_(identify(child_.pid()), mark_name + "=" + session_directory),
      observer_(session_directory, std::move(ranks)) {}

RankGroup::~RankGroup() { end(ranks_ending_ns); }

void RankGroup::add_poll_entries(std::vector<pollfd>& entries) const {
  if (output_open_) entries.push_back({child_.output(), POLLIN, 0});
}

std::vector<TaggedLine> RankGroup::read_output() {
  std::vector<TaggedLine> lines;
  const auto take = [&](const std::string& line) {
    lines.push_back(parse_tagged_line(line));
    if (lines.back().rank < 0) read_exit_report(line, report_);
  };
  std::array<char, 16384> bytes;
  for (ssize_t got; (got = ::read(child_.output(), bytes.data(), bytes.size())) != 0;) {
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return lines;
    try {
      output_lines_.feed({bytes.data(), static_cast<size_t>(got)});
    } catch (const Failure& failure) {
      take(failure.what());
    }
    while (auto line = output_lines_.next_line()) take(*line);
  }
  if (std::exchange(output_open_, false)) {
    if (const std::string rest = output_lines_.rest(); !rest.empty()) take(rest);
  }
  return lines;
}

HostReport RankGroup::look() {
  HostReport report = observer_.look();
  const bool all_known = std::all_of(report.ranks.begin(), report.ranks.end(),
                                     [](const RankReport& rank) { return rank.observation.process.pid != 0; });
  if (!all_known) find_launched();
  for (const ProcessId& process : observer_.processes()) tree_.add(process);
  return report;
}

// Ranks are known before they have said anything: by their environment.
void RankGroup::find_launched() {
  if (monotonic_ns() - scanned_ns_ < launch_scan_interval_ns) return;
  scanned_ns_ = monotonic_ns();
  tree_.scan();
  for (const ProcessInfo& one : tree_.living()) {
    if (one.id.pid == child_.pid()) continue;
    if (const auto rank = rank_with_pid(one.id.pid)) observer_.note_process(*rank, one.id);
  }
}

char RankGroup::launcher_state() {
  const ProcessObservation observation = look_at_process(child_.pid());
  if (observation.presence != ProcessObservation::Presence::there) return '?';
  if (monotonic_ns() - group_looked_ns_ >= scan_interval_ns) {
    group_looked_ns_ = monotonic_ns();
    launcher_frozen_ = is_frozen(child_.pid());
  }
  return launcher_frozen_ ? frozen_process : observation.info.state;
}

void RankGroup::pause() {
  tree_.scan();
  tree_.signal_all(SIGSTOP);
}

void RankGroup::resume() { tree_.signal_all(SIGCONT); }

void RankGroup::kill_ranks() {
  for (const ProcessId& process : observer_.processes()) {
    if (process.start_time != 0 && is_alive(process)) ::kill(process.pid, SIGKILL);
  }
}

void RankGroup::ask_to_end() {
  tree_.scan();
  child_.send_signal(SIGTERM);
  child_.send_signal(SIGCONT);
}

std::vector<std::string> RankGroup::end(int64_t patience_ns) {
  tree_.scan();
  cgroup_.kill();
  std::vector<std::string> left;
  for (const ProcessInfo& one : tree_.end(patience_ns)) {
    if (one.id.pid == child_.pid() && wait_status()) continue;
    const std::optional<int> rank = rank_with_pid(one.id.pid);
    left.push_back(fmt::format("process {}{} could not be ended: the kernel keeps it (state {})", one.id.pid,
                               rank ? fmt::format(" (rank {})", *rank) : "", one.state));
  }
  return left;
}

}  // namespace shardscope
