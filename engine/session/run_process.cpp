#include "engine/session/run_process.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <utility>

#include "engine/base/control_group.h"
#include "engine/base/plural.h"
#include "engine/machine/machine_file.h"
#include "engine/session/host_network.h"
#include "engine/session/line_cost.h"
#include "engine/session/mpi_guard.h"
#include "engine/session/preflight.h"
#include "engine/session/rank_words.h"

namespace shardscope {

namespace {

constexpr int process_poll_ms = 50;
constexpr int64_t flush_ns = 1'000'000'000;

void write_text(const std::string& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary);
  file << text;
  if (!file.flush()) {
    throw Failure(Error{"session_file", std::string("cannot write: ") + std::strerror(errno), in_file(path), ""});
  }
}

// Of an earlier start of the ranks.
void remove_telemetry(const std::string& session_directory) {
  std::error_code ignored;
  std::vector<std::filesystem::path> old;
  for (const auto& entry : std::filesystem::directory_iterator(session_directory, ignored)) {
    if (entry.path().filename().string().starts_with("rank_")) old.push_back(entry.path());
  }
  for (const auto& path : old) std::filesystem::remove(path, ignored);
}

std::string done_note(const std::string& what) {
  return fmt::format("warning: after every rank had finished: {}; nothing of the run is lost", what);
}

}  // namespace

RunProcess::RunProcess(RunOptions options)
    : options_(std::move(options)),
      control_(Control::create(directory_.path())),
      page_(StatusPage::create(directory_.path(), options_.ranks)),
      history_(directory_.path(), {options_.config_json, options_.plan_hash, options_.ranks, options_.plan_steps,
                                   options_.metrics, machine_text(options_.machine)}),
      server_(options_.socket_path.empty() ? directory_.path() + "/socket" : options_.socket_path,
              [this] { return history_.greeting(); }),
      mpi_token_(has_mpi_guard() ? new_mpi_token() : "") {
  const bool all_here = !options_.hosts;
  check_host_limits({directory_.path(), options_.ranks, all_here && options_.ranks > 1 ? options_.rank_bytes : 0});
  write_text(directory_.path() + "/config.json", options_.config_json);
  if (!options_.data_json.empty()) write_text(directory_.path() + "/data.json", options_.data_json);
  save_machine(options_.machine, directory_.path() + "/machine.json");
  std::filesystem::create_directory(directory_.path() + "/tmp");
  wake_ = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (wake_ < 0) throw Failure(Error{"session_file", "cannot make an event descriptor", "", ""});
}

RunProcess::~RunProcess() {
  ranks_.reset();
  hosts_.reset();
  ::close(wake_);
}

RunOutcome RunProcess::run(const std::function<void(const ReportedMessage&)>& on_message) {
  on_message_ = on_message;
  if (mpi_token_.empty()) publish(LogMessage{LogMessage::supervisor, mpi_guard_missing()});
  try {
    for (bool again = true; again; report_incomplete()) {
      run_once();
      again = starts_again();
    }
  } catch (const Failure& failure) {
    abandon(failure);
  }
  report_restart();
  const FinishedMessage finished{run_end(), steps_};
  publish(finished);
  flush_clients();
  return {finished.end, finished.steps, history_.failure()};
}

void RunProcess::run_once() {
  ranks_.reset();
  hosts_.reset();
  progress_ = std::make_unique<Progress>(step_counts(options_.plan_steps, options_.ranks), options_.metrics,
                                         options_.expert_layers);
  const MemoryFacts memory{options_.rank_bytes, usable_memory_bytes(), options_.checkpoint_bytes};
  watchdog_ = std::make_unique<Watchdog>(options_.plan_hash, options_.plan_steps, options_.limits, memory);
  page_.clear();
  remove_telemetry(directory_.path());
  over_ = false;
  if (options_.hosts && !reach_hosts()) return handle_news(hosts_->end(options_.exit_grace_ns));
  start_ranks();
  std::optional<int> wait_status;
  while (!wait_status && !over_ && !watchdog_->abandons_launcher()) {
    wait_for_news();
    wait_status = ranks_->wait_status();
    // What it has started on hosts ends with it, and is reported later; but a signal to it is the cause of all that.
    if (wait_status && hosts_ && hosts_->has_running() && !WIFSIGNALED(*wait_status)) wait_status.reset();
    read_output();
    follow_ranks();
    watch(wait_status);
    serve_clients();
    handle_interrupts();
    handle_pause();
  }
  if (!wait_status) end_by_force();
  end_ranks();
}

void RunProcess::start_ranks() {
  std::vector<int> here;
  std::vector<std::string> command;
  std::string address = "127.0.0.1", networks = "127.0.0.0/8";
  if (hosts_) {
    const MpirunHosts hosts = hosts_->mpirun_hosts();
    networks = hosts.networks;
    address = own_address_in(networks, hosts_->own_address());
    if (address.empty()) publish(LogMessage{LogMessage::supervisor, any_address_warning(networks)});
    command = options_.hosts->command(hosts);
  } else {
    here.resize(static_cast<size_t>(options_.ranks));
    std::iota(here.begin(), here.end(), 0);
    command = options_.command(directory_.path());
  }
  try {
    ranks_ = std::make_unique<RankGroup>(command, directory_.path(), std::move(here),
                                         mpi_guard_environment(mpi_token_, address, networks));
  } catch (const Failure& failure) {
    throw with_hint_for_mpirun(failure);
  }
}

bool RunProcess::reach_hosts() {
  const std::string& folder = directory_.path();
  RunHostsOptions hosts = *options_.hosts;
  hosts.mpi_token = mpi_token_;
  RunHosts::Files files{{"config.json", options_.config_json}, {"machine.json", machine_text(options_.machine)}};
  if (!options_.data_json.empty()) files.emplace_back("data.json", options_.data_json);
  hosts_ = std::make_unique<RunHosts>(std::move(hosts), folder, files);
  while (!hosts_->is_ready() && !over_ && !stopping_) {
    wait_for_news();
    follow_hosts();
    serve_clients();
    handle_interrupts();
    handle_pause();
  }
  return !over_ && !stopping_;
}

void RunProcess::follow_hosts() {
  if (hosts_) handle_news(hosts_->serve());
}

void RunProcess::handle_news(const RunHosts::News& news) {
  for (const LogMessage& line : news.lines) publish(line);
  for (const HostReport& report : news.reports) {
    for (const Message& message : progress_->take(report)) publish(message);
  }
  if (news.failure && !over_) {
    if (std::ranges::all_of(progress_->observations(), is_done))
      publish(LogMessage{LogMessage::supervisor, done_note(*news.failure)});
    else take_failure(FailureMessage{-1, "", "", *news.failure});
  }
  report_left(news.left);
}

void RunProcess::request_stop() {
  control_.request_stop();
  if (hosts_) hosts_->request_stop();
}

void RunProcess::stop() {
  stop_asked_ = true;
  request_stop();
}

void RunProcess::interrupt() noexcept {
  interrupts_.fetch_add(1);
  wake();
}

void RunProcess::pause() noexcept {
  pause_asked_ = true;
  wake();
}

void RunProcess::wake() noexcept {
  const int saved = errno;
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = ::write(wake_, &one, sizeof one);
  errno = saved;
}

void RunProcess::wait_for_news() {
  std::vector<pollfd> entries{{wake_, POLLIN, 0}};
  if (ranks_) ranks_->add_poll_entries(entries);
  if (hosts_) hosts_->add_poll_entries(entries);
  server_.add_poll_entries(entries);
  ::poll(entries.data(), entries.size(), more_telemetry_ ? 0 : process_poll_ms);
  uint64_t count = 0;
  [[maybe_unused]] ssize_t got = ::read(wake_, &count, sizeof count);
}

void RunProcess::read_output() {
  for (const TaggedLine& line : ranks_->read_output()) publish(LogMessage{line.rank, line.text});
}

void RunProcess::follow_ranks() {
  follow_hosts();
  const HostReport report = ranks_->look();
  for (const Message& message : progress_->take(report)) publish(message);
  more_telemetry_ = report.more;
}

void RunProcess::serve_clients() {
  for (const auto& [request, client] : server_.serve()) {
    if (request.kind == Request::Kind::steps) {
      server_.send_to(client, to_json_line(history_.steps(request.from, request.to)));
      continue;
    }
    if (request.kind == Request::Kind::keep) {
      ::prctl(PR_SET_PDEATHSIG, 0);
      publish(LogMessage{LogMessage::supervisor, std::string(keep_note)});
      continue;
    }
    stop();
    kill_asked_ = kill_asked_ || request.kind == Request::Kind::kill;
  }
  over_ = over_ || kill_asked_;
}

void RunProcess::handle_interrupts() {
  int count = interrupts_.load();
  if (count == 0) return;
  if (!stopping_) {
    request_stop();
    stopping_ = Stopping{clock_.tick(monotonic_ns()), progress_->signs_of_life()};
    publish(LogMessage{LogMessage::supervisor, std::string(interrupt_note)});
  } else if (!stopping_->step) {
    stopping_->step = progress_->furthest_step();
  }
  if (count > 1 || !stops_in_time()) over_ = kill_asked_ = true;
}

// Once they train, the step that they are in may take as long as the ranks get on with it, and a last checkpoint as
// long as its phase, which the watchdog looks at.
bool RunProcess::stops_in_time() {
  const bool listens = stopping_->step && *stopping_->step >= 0 && progress_->furthest_step() <= *stopping_->step + 2;
  const uint64_t signs = progress_->signs_of_life();
  const int64_t now_ns = clock_.tick(monotonic_ns());
  if (listens && (signs != stopping_->signs_of_life || progress_->is_saving())) {
    stopping_->signs_of_life = signs;
    stopping_->since_ns = now_ns;
  }
  return now_ns - stopping_->since_ns <= options_.limits.stopping_ns;
}

// The ranks first: whoever sees this process stopped finds them stopped, too. It is asked again before this process
// stops, since a SIGCONT that came meanwhile would be the last.
void RunProcess::handle_pause() {
  if (!pause_asked_) return;
  if (hosts_) hosts_->pause();
  if (ranks_) ranks_->pause();
  if (pause_asked_.exchange(false)) ::raise(SIGSTOP);
  if (ranks_) ranks_->resume();
  if (hosts_) hosts_->resume();
}

void RunProcess::watch(std::optional<int> wait_status) {
  const RunObservation seen{clock_.tick(monotonic_ns()), progress_->observations(), &ranks_->exit_report(), wait_status,
                            ranks_->launcher_state()};
  std::optional<FailureMessage> failure = watchdog_->look(seen);
  for (std::string& notice : watchdog_->take_notices()) publish(LogMessage{LogMessage::supervisor, std::move(notice)});
  if (failure && !over_) take_failure(std::move(*failure));
}

void RunProcess::take_failure(FailureMessage failure) {
  report_restart();
  over_ = true;
  failure.message += full_disk_note(directory_.path()) + address_space_note(options_.rank_bytes) + stack_note();
  const bool is_wanted = !stopping_ && !stop_asked_;
  if (watchdog_->lost_a_rank() && restarts_ < options_.max_restarts && is_wanted) lost_ = std::move(failure);
  else report_failure(std::move(failure));
}

void RunProcess::report_failure(FailureMessage failure) {
  if (restarts_ > 0) failure.message += fmt::format(" (after {})", counted(restarts_, "restart"));
  publish(failure);
}

// The ranks have ended: they write no checkpoint any more.
bool RunProcess::starts_again() {
  if (over_) handle_interrupts();
  if (!lost_) return false;
  FailureMessage failure = *std::exchange(lost_, std::nullopt);
  if (stopping_ || stop_asked_) {
    report_failure(std::move(failure));
    return false;
  }
  RestartMessage restart{restarts_ + 1, 0, std::move(failure)};
  try {
    if (options_.restart_step) restart.from_step = options_.restart_step();
  } catch (const Failure& why) {
    report_no_restart(std::move(restart.failure), why);
    return false;
  }
  std::string text = fmt::format("{}; starting again from step {} (restart {})", restart.failure.message,
                                 restart.from_step, restart.restart);
  restarting_ = std::move(restart);
  publish(LogMessage{LogMessage::supervisor, std::move(text)});
  return true;
}

void RunProcess::report_no_restart(FailureMessage failure, const Failure& why) {
  failure.message += fmt::format("; cannot start again: {}", why.what());
  report_failure(std::move(failure));
}

// What cannot be started, or watched any longer.
void RunProcess::abandon(const Failure& failure) {
  over_ = true;
  if (restarting_ && !ranks_) report_no_restart(std::exchange(restarting_, std::nullopt)->failure, failure);
  report_restart();
  if (lost_) report_failure(*std::exchange(lost_, std::nullopt));
  if (history_.failure()) publish(LogMessage{LogMessage::supervisor, failure.what()});
  else report_failure(FailureMessage{-1, "", "", failure.what()});
  ranks_.reset();
  if (hosts_) hosts_->end(options_.hosts->end_ns);
  hosts_.reset();
}

// What the ranks had begun before they were ended. Those that train have removed what an earlier run had left.
void RunProcess::report_incomplete() {
  if (!over_ || !options_.incomplete_checkpoints || progress_->furthest_step() < 0) return;
  for (const std::string& name : options_.incomplete_checkpoints())
    publish(LogMessage{LogMessage::supervisor, name + " was not completed"});
}

void RunProcess::report_restart(std::optional<int64_t> first_step) {
  if (!restarting_) return;
  RestartMessage restart = *std::exchange(restarting_, std::nullopt);
  restarts_ = restart.restart;
  if (first_step && *first_step != restart.from_step) {
    publish(LogMessage{LogMessage::supervisor, fmt::format("restart {} goes on from step {}, not {}: the newest "
                                                           "checkpoint could not be used",
                                                           restart.restart, *first_step, restart.from_step)});
    restart.from_step = *first_step;
  }
  steps_ = restart.from_step;
  publish(restart);
}

void RunProcess::end_by_force() {
  if (lost_ || history_.failure()) {
    ranks_->kill_ranks();
    if (hosts_) hosts_->kill_ranks();
  }
  ranks_->ask_to_end();
  const int64_t deadline = monotonic_ns() + options_.exit_grace_ns;
  while (!ranks_->wait_status() && monotonic_ns() < deadline && interrupts_.load() < 2) {
    wait_for_news();
    follow_hosts();
    read_output();
    serve_clients();
  }
}

void RunProcess::end_ranks() {
  const std::vector<std::string> left = ranks_->end(options_.exit_grace_ns);
  if (hosts_) handle_news(hosts_->end(options_.hosts->end_ns));
  do {
    read_output();
    follow_ranks();
  } while (more_telemetry_);
  report_left(left);
}

// Beside processes that could not be ended none are started.
void RunProcess::report_left(const std::vector<std::string>& left) {
  if (!left.empty() && lost_) report_failure(*std::exchange(lost_, std::nullopt));
  for (const std::string& text : left) {
    if (history_.failure()) publish(LogMessage{LogMessage::supervisor, text});
    else publish(FailureMessage{-1, "", "", text});
  }
}

void RunProcess::flush_clients() {
  int64_t deadline = monotonic_ns() + flush_ns;
  while (server_.has_unsent() && monotonic_ns() < deadline) {
    std::vector<pollfd> entries;
    server_.add_poll_entries(entries);
    ::poll(entries.data(), entries.size(), process_poll_ms);
    server_.serve();
  }
}

void RunProcess::publish(const Message& message) {
  if (auto* step = std::get_if<StepMessage>(&message)) {
    report_restart(step->step);
    steps_ = step->step + 1;
  }
  if (auto* trace = std::get_if<TraceMessage>(&message); trace && !is_sendable(*trace)) {
    if (!std::exchange(left_out_a_trace_, true)) publish(LogMessage{LogMessage::supervisor, unsendable_note(*trace)});
    return;
  }
  const std::optional<LogMessage> lost = history_.add(message);
  const ReportedMessage reported(message);
  if (server_.has_clients()) server_.send(reported.line());
  on_message_(reported);
  if (lost) publish(*lost);
}

RunEnd RunProcess::run_end() const {
  if (history_.failure()) return RunEnd::failed;
  if (stopping_) return RunEnd::interrupted;
  return (stop_asked_ && steps_ < options_.steps) ? RunEnd::stopped : RunEnd::finished;
}

}  // namespace shardscope
