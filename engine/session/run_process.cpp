#include "engine/session/run_process.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <filesystem>
#include <fstream>

#include "engine/base/error.h"

namespace shardscope {

namespace {

constexpr int poll_ms = 50;
constexpr size_t log_lines = 1000;
constexpr size_t detailed_steps = 1000;
constexpr int64_t flush_ns = 1'000'000'000;

void write_text(const std::string& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary);
  file << text;
  if (!file.flush()) throw Failure(Error{"session_file", "cannot write", in_file(path), ""});
}

}  // namespace

RunProcess::RunProcess(RunOptions options)
    : options_(std::move(options)),
      control_(Control::create(directory_.path())),
      server_(options_.socket_path.empty() ? directory_.path() + "/socket" : options_.socket_path,
              [this] { return greeting(); }),
      progress_(directory_.path(), options_.ranks, options_.plan_steps, options_.metrics),
      watchdog_(options_.plan_hash, options_.plan_steps, options_.limits),
      rank_processes_(options_.ranks) {
  write_text(directory_.path() + "/config.json", options_.config_json);
  std::filesystem::create_directory(directory_.path() + "/tmp");
  wake_ = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (wake_ < 0) throw Failure(Error{"session_file", "cannot make an event descriptor", "", ""});
}

RunProcess::~RunProcess() {
  if (child_) kill_ranks();
  child_.reset();
  ::close(wake_);
}

RunOutcome RunProcess::run(const std::function<void(const Message&)>& on_message) {
  on_message_ = on_message;
  child_ = std::make_unique<ChildProcess>(options_.command(directory_.path()),
                                          ChildProcess::Environment{{"TMPDIR", directory_.path() + "/tmp"}});
  std::optional<int> wait_status;
  while (!wait_status && !snapshot_.failure && !kill_asked_) {
    wait_for_news();
    wait_status = child_->wait_status();
    read_output();
    follow_telemetry();
    watch(wait_status);
    serve_watchers();
    heed_interrupts();
  }
  if (!wait_status) end_by_force();
  kill_ranks();
  read_output();
  if (std::string rest = output_lines_.rest(); !rest.empty()) take_line(rest);
  follow_telemetry();
  finished_ = FinishedMessage{run_end(), progress_.completed_steps()};
  publish(*finished_);
  flush_watchers();
  return {finished_->end, finished_->steps, snapshot_.failure};
}

void RunProcess::interrupt() noexcept {
  interrupts_.fetch_add(1);
  int saved = errno;
  uint64_t one = 1;
  [[maybe_unused]] ssize_t written = ::write(wake_, &one, sizeof one);
  errno = saved;
}

void RunProcess::wait_for_news() {
  std::vector<pollfd> entries{{wake_, POLLIN, 0}};
  if (output_open_) entries.push_back({child_->output(), POLLIN, 0});
  server_.add_poll_entries(entries);
  ::poll(entries.data(), entries.size(), poll_ms);
  uint64_t count = 0;
  [[maybe_unused]] ssize_t got = ::read(wake_, &count, sizeof count);
}

void RunProcess::read_output() {
  std::array<char, 16384> bytes;
  for (;;) {
    ssize_t got = ::read(child_->output(), bytes.data(), bytes.size());
    if (got < 0 && errno == EINTR) continue;
    if (got == 0) output_open_ = false;
    if (got <= 0) return;
    try {
      output_lines_.feed({bytes.data(), static_cast<size_t>(got)});
    } catch (const Failure& failure) {
      take_line(failure.what());
    }
    while (auto line = output_lines_.next_line()) take_line(*line);
  }
}

void RunProcess::take_line(const std::string& line) {
  TaggedLine tagged = parse_tagged_line(line);
  if (tagged.rank < 0) read_exit_report(line, report_);
  publish(LogMessage{tagged.rank, tagged.text});
}

void RunProcess::follow_telemetry() {
  for (const Message& message : progress_.poll()) publish(message);
}

void RunProcess::serve_watchers() {
  for (Request request : server_.serve()) {
    stop_asked_ = true;
    control_.request_stop();
    kill_asked_ = kill_asked_ || request == Request::kill;
  }
}

void RunProcess::heed_interrupts() {
  int count = interrupts_.load();
  if (count == 0) return;
  if (!interrupted_ns_) {
    interrupted_ns_ = monotonic_ns();
    control_.request_stop();
    publish(LogMessage{-1, std::string(interrupt_note)});
  }
  if (count > 1 || monotonic_ns() - *interrupted_ns_ > options_.interrupt_grace_ns) kill_asked_ = true;
}

std::vector<RankObservation> RunProcess::observe_ranks() {
  std::vector<RankObservation> ranks;
  for (size_t i = 0; i < rank_processes_.size(); ++i) {
    RankObservation seen{progress_.statuses()[i], 0};
    if (seen.status) {
      auto info = process_info(seen.status->pid);
      if (!rank_processes_[i]) rank_processes_[i] = info ? info->id : ProcessId{seen.status->pid, 0};
      if (info && info->id == *rank_processes_[i]) seen.process = info->state;
    }
    ranks.push_back(std::move(seen));
  }
  return ranks;
}

void RunProcess::watch(std::optional<int> wait_status) {
  std::vector<RankObservation> ranks = observe_ranks();
  if (auto failure = watchdog_.look({monotonic_ns(), ranks, &report_, wait_status})) publish(*failure);
}

void RunProcess::end_by_force() {
  std::vector<ProcessId> processes = descendants(child_->pid());
  child_->send_signal(SIGTERM);
  int64_t deadline = monotonic_ns() + options_.exit_grace_ns;
  while (!child_->wait_status() && monotonic_ns() < deadline) {
    wait_for_news();
    read_output();
    serve_watchers();
    if (interrupts_.load() > 1) break;
  }
  for (const ProcessId& process : processes) {
    if (!is_alive(process)) continue;
    ::kill(process.pid, SIGCONT);
    ::kill(process.pid, SIGKILL);
  }
  kill_ranks();
  deadline = monotonic_ns() + options_.exit_grace_ns;
  while (!child_->wait_status() && monotonic_ns() < deadline) {
    wait_for_news();
    read_output();
  }
  child_->send_signal(SIGKILL);
  while (!child_->wait_status()) wait_for_news();
}

void RunProcess::kill_ranks() {
  int64_t deadline = monotonic_ns() + options_.exit_grace_ns;
  for (const auto& process : rank_processes_) {
    if (!process || !is_alive(*process)) continue;
    ::kill(process->pid, SIGCONT);
    ::kill(process->pid, SIGKILL);
    while (is_alive(*process) && monotonic_ns() < deadline) ::poll(nullptr, 0, 1);
  }
}

void RunProcess::flush_watchers() {
  int64_t deadline = monotonic_ns() + flush_ns;
  while (server_.has_unsent() && monotonic_ns() < deadline) {
    std::vector<pollfd> entries;
    server_.add_poll_entries(entries);
    ::poll(entries.data(), entries.size(), poll_ms);
    server_.serve();
  }
}

void RunProcess::publish(const Message& message) {
  if (auto* step = std::get_if<StepMessage>(&message)) {
    auto& steps = snapshot_.steps;
    if (!steps.empty()) steps.back().plan_step_ms.clear();
    if (steps.size() >= detailed_steps) steps[steps.size() - detailed_steps].ranks.clear();
    steps.push_back(*step);
  } else if (auto* rank = std::get_if<RankStateMessage>(&message)) {
    auto& ranks = snapshot_.ranks;
    auto known = std::find_if(ranks.begin(), ranks.end(), [&](const auto& other) { return other.rank == rank->rank; });
    if (known == ranks.end()) ranks.push_back(*rank);
    else *known = *rank;
  } else if (auto* log = std::get_if<LogMessage>(&message)) {
    log_.push_back(*log);
    if (log_.size() > log_lines) log_.pop_front();
  } else if (auto* failure = std::get_if<FailureMessage>(&message)) {
    snapshot_.failure = *failure;
  }
  if (server_.has_watchers()) server_.send(to_json_line(message));
  on_message_(message);
}

std::string RunProcess::greeting() const {
  SnapshotMessage snapshot = snapshot_;
  snapshot.log.assign(log_.begin(), log_.end());
  std::string lines = to_json_line(HelloMessage{options_.config_json, options_.plan_hash, options_.ranks,
                                                options_.plan_steps, options_.metrics}) +
                      to_json_line(snapshot);
  if (finished_) lines += to_json_line(*finished_);
  return lines;
}

RunEnd RunProcess::run_end() const {
  if (snapshot_.failure) return RunEnd::failed;
  if (interrupted_ns_) return RunEnd::interrupted;
  return (stop_asked_ && progress_.completed_steps() < options_.steps) ? RunEnd::stopped : RunEnd::finished;
}

}  // namespace shardscope
