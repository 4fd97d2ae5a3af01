#include "tests/faults/run.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <grp.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <QProcessEnvironment>
#include <csignal>
#include <filesystem>
#include <regex>
#include <stdexcept>
#include <thread>

#include "engine/base/error.h"

namespace shardscope::faults {

namespace fs = std::filesystem;

namespace {

constexpr int64_t million = 1'000'000;
constexpr uid_t nobody = 65534;

std::vector<std::string> names_in(int folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(fmt::format("/proc/self/fd/{}", folder), error)) {
    names.push_back(entry.path().filename());
  }
  return names;
}

// Control groups that a launcher of that number has made for its run.
std::vector<std::string> groups_of(int launcher) {
  const std::string prefix = fmt::format("shardscope-run-{}-", launcher);
  std::vector<std::string> groups;
  std::error_code error;
  auto entry = fs::recursive_directory_iterator("/sys/fs/cgroup", error);
  for (; !error && entry != fs::recursive_directory_iterator(); entry.increment(error)) {
    if (entry->path().filename().string().starts_with(prefix)) groups.push_back(entry->path());
  }
  return groups;
}

bool becomes_nobody(const Start& start) { return start.as_nobody && ::geteuid() == 0; }

int code_of(const QProcess& process) {
  return process.exitStatus() == QProcess::CrashExit ? 128 + process.exitCode() : process.exitCode();
}

// Between fork and exec: only calls that are safe there.
void become(const Start& start) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  for (int signal = 1; signal < NSIG; ++signal) ::signal(signal, SIG_DFL);  // whoever started the test ignores some
  if (start.own_terminal) {
    ::setsid();
    ::ioctl(STDOUT_FILENO, TIOCSCTTY, 0);
  } else {
    ::setpgid(0, 0);
  }
  if (!start.mounts.empty()) {
    bool done = ::unshare(CLONE_NEWNS) == 0 && ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0;
    for (const Mount& one : start.mounts) {
      done = done &&
             ::mount(one.source.c_str(), one.target.c_str(), one.type.c_str(), one.flags, one.options.c_str()) == 0;
    }
    if (!done) ::_exit(99);
  }
  if (start.close_output) ::close(STDOUT_FILENO);
  if (start.close_errors) ::close(STDERR_FILENO);
  if (start.umask) ::umask(*start.umask);
  if (becomes_nobody(start)) {
    if (::setgroups(0, nullptr) != 0 || ::setgid(nobody) != 0 || ::setuid(nobody) != 0) ::_exit(99);
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // forgotten by a process that becomes another user's
  }
}

}  // namespace

Run::Run(Start start, int victim, std::vector<bool> exchanges)
    : start_(std::move(start)),
      victim_(victim),
      exchanges_(std::move(exchanges)),
      processes_(start_.folder),
      ranks_(static_cast<size_t>(start_.ranks)) {
  prepare_folders();
  if (!start_.output.empty()) process_.setStandardOutputFile(QString::fromStdString(start_.output));
  if (!start_.errors.empty()) process_.setStandardErrorFile(QString::fromStdString(start_.errors));
  launch(process_, start_.command());
  const int pid = static_cast<int>(process_.processId());
  const auto info = see_process(pid);
  launcher_ = info ? info->id : ProcessId{pid, 0};
  std::vector<std::string> folders = start_.temporaries();
  if (!shared_memory_.empty()) folders.push_back("/dev/shm");
  if (own_slash_tmp_) folders.push_back("/tmp");
  for (const std::string& folder : folders) {
    const int opened = ::open(seen(folder).c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (opened >= 0) folders_.emplace_back(folder, opened);
  }
}

void Run::prepare_folders() {
  for (const std::string& folder : start_.temporaries()) fs::create_directories(folder);
  if (can_mount() && start_.host_folders.empty()) {
    shared_memory_ = "/dev/shm/shardscope-trial-" + fs::path(start_.folder).filename().string();
    fs::create_directories(shared_memory_);
    fs::create_directories(start_.folder + "/slash_tmp");
    std::vector<Mount> own = {{shared_memory_, "/dev/shm", "none", MS_BIND, ""}};
    own_slash_tmp_ = !start_.program.starts_with("/tmp/") && !start_.folder.starts_with("/tmp/") &&
                     !std::string(SHARDSCOPE_SOURCE_DIR).starts_with("/tmp/");
    if (own_slash_tmp_) own.push_back({start_.folder + "/slash_tmp", "/tmp", "none", MS_BIND, ""});
    start_.mounts.insert(start_.mounts.begin(), own.begin(), own.end());
  }
  if (!becomes_nobody(start_)) return;
  start_.environment["HOME"] = start_.folder;
  for (const std::string& folder : {start_.folder, start_.temporary(), shared_memory_, start_.folder + "/slash_tmp"}) {
    [[maybe_unused]] const int left_alone = ::chown(folder.c_str(), nobody, nobody);
  }
}

void Run::launch(QProcess& process, const std::vector<std::string>& command) {
  QProcessEnvironment environment = QProcessEnvironment::systemEnvironment();
  environment.insert(MarkedProcesses::variable, QString::fromStdString(start_.folder));
  environment.insert("TMPDIR", QString::fromStdString(start_.temporary()));
  for (const auto& [key, value] : start_.environment) {
    environment.insert(QString::fromStdString(key), QString::fromStdString(value));
  }
  process.setProcessEnvironment(environment);
  process.setWorkingDirectory(QString::fromStdString(start_.folder));
  process.setStandardInputFile("/dev/null");
  process.setChildProcessModifier([this] { become(start_); });
  QStringList arguments;
  for (size_t i = 1; i < command.size(); ++i) arguments << QString::fromStdString(command[i]);
  process.start(QString::fromStdString(command[0]), arguments);
  if (!process.waitForStarted()) throw std::runtime_error("cannot start " + command[0]);
}

Run::~Run() {
  end_all();
  for (const auto& [name, opened] : folders_) ::close(opened);
  std::error_code ignored;
  if (!shared_memory_.empty()) fs::remove_all(shared_memory_, ignored);
}

std::unique_ptr<QProcess> Run::start_beside(const Start& other) {
  auto process = std::make_unique<QProcess>();
  launch(*process, other.command());
  return process;
}

Run::Ended Run::run_beside(const Start& other) {
  const std::unique_ptr<QProcess> process = start_beside(other);
  const auto has_ended = [&] { return process->waitForFinished(2) || process->state() == QProcess::NotRunning; };
  if (!run_until(has_ended, 60'000) && !process->waitForFinished(60'000)) {
    process->kill();
    process->waitForFinished();
    return {};
  }
  return {code_of(*process), process->readAllStandardError().toStdString()};
}

void Run::start_next() {
  Start next = start_;
  if (start_.host_folders.empty()) {
    next.before.clear();
    next.arguments.clear();
  }
  next.steps = 1;
  QProcess process;
  launch(process, next.command());
  process.waitForFinished(60'000);
  process.kill();
  process.waitForFinished();
}

void Run::end_all() {
  for (int round = 0; round < 200; ++round) {
    const std::vector<ProcessId> left = processes_.alive();
    for (const ProcessId& process : left) {
      ::kill(process.pid, SIGKILL);
      ::kill(process.pid, SIGCONT);
    }
    if (left.empty() && ended()) break;
    process_.waitForFinished(10);
  }
  on_readable();
}

std::string Run::seen(const std::string& path) const { return fmt::format("/proc/{}/root{}", launcher_.pid, path); }

std::string Run::session_directory() const {
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(seen(start_.temporary_of_rank(victim_)), error)) {
    if (entry.path().filename().string().starts_with("shardscope-run-")) return entry.path();
  }
  return "";
}

void Run::find_processes() {
  const int64_t now = monotonic_ns();
  if (now - looked_ns_ < million) return;
  looked_ns_ = now;
  processes_.look();
  for (const ProcessId& process : processes_.ever()) {
    const std::vector<std::string> command = command_line(process.pid);
    if (command.empty()) continue;
    const std::string program = fs::path(command[0]).filename();
    const bool launcher = program == "mpirun" || program == "orterun";
    const auto info = see_process(process.pid);
    if (launcher && !mpirun_ && info && info->parent == launcher_.pid) mpirun_ = process;
    if (launcher || command.size() < 2 || command[1] != "rank") continue;
    const std::string number = environment_variable(process.pid, "OMPI_COMM_WORLD_RANK");
    if (!number.empty() && std::stoul(number) < ranks_.size()) ranks_[std::stoul(number)] = process;
  }
}

std::optional<int> Run::mpirun() {
  find_processes();
  return mpirun_ && lives(*mpirun_) ? std::optional(mpirun_->pid) : std::nullopt;
}

std::optional<int> Run::rank(int number) {
  find_processes();
  const auto& process = ranks_[static_cast<size_t>(number)];
  return process && lives(*process) ? std::optional(process->pid) : std::nullopt;
}

Phase Run::phase() {
  if (ended()) return Phase::ended;
  if (!page_) open_page();
  if (page_) {
    const RankEntry entry = page_->read(victim_);
    if (entry.failed_ns != 0) return Phase::ended;
    switch (entry.phase) {
      case RankPhase::launching: break;
      case RankPhase::starting:
      case RankPhase::connecting: return Phase::joining;
      case RankPhase::planning:
      case RankPhase::agreeing: return Phase::planning;
      case RankPhase::allocating: return Phase::allocating;
      case RankPhase::initialising: return Phase::initialising;
      case RankPhase::training:
      case RankPhase::saving: return phase_of_step();
      case RankPhase::finishing: return Phase::finishing;
    }
  }
  find_processes();
  if (ranks_[static_cast<size_t>(victim_)]) return Phase::joining;
  return mpirun_ ? Phase::starting : Phase::launching;
}

void Run::open_page() {
  const std::string session = session_directory();
  if (session.empty()) return;
  try {
    page_ = StatusPage::open(session);
  } catch (const Failure&) {
    return;  // it is being made
  }
}

int Run::plan_step() {
  try {
    if (!telemetry_) telemetry_ = TelemetryReader::open(session_directory(), victim_);
  } catch (const Failure&) {
    return -1;
  }
  return telemetry_ ? telemetry_->status().plan_step : -1;
}

bool Run::is_before_its_last_plan_step() {
  const int position = plan_step();
  return position >= 0 && static_cast<size_t>(position) + 1 < exchanges_.size();
}

Phase Run::phase_of_step() {
  const int position = plan_step();
  const auto step = static_cast<size_t>(position);
  return position >= 0 && step < exchanges_.size() && exchanges_[step] ? Phase::exchanging : Phase::computing;
}

bool Run::reach(Phase aim) {
  const int64_t deadline = monotonic_ns() + 60'000 * million;
  while (!ended() && monotonic_ns() < deadline) {
    const Phase now = phase();
    const bool training = now == Phase::computing || now == Phase::exchanging;
    if (now == Phase::ended) break;
    if (aim == Phase::computing || aim == Phase::exchanging ? now == aim || now == Phase::finishing : now >= aim) {
      return true;
    }
    if (training) {
      std::this_thread::yield();
    } else {
      run_for(0);
      ::usleep(200);
    }
  }
  run_for(0);
  return false;
}

void Run::on_readable() {
  const QByteArray errors = start_.errors.empty() ? process_.readAllStandardError() : QByteArray();
  if (start_.output.empty()) output_ += process_.readAllStandardOutput().toStdString();
  if (!errors.isEmpty()) {
    errors_ += errors.toStdString();
    received_.push_back({monotonic_ns(), errors_.size()});
  }
  if (ended() && !ended_ns_) ended_ns_ = monotonic_ns();
}

void Run::run_for(int64_t milliseconds) {
  run_until([] { return false; }, milliseconds);
}

bool Run::run_until(const std::function<bool()>& done, int64_t milliseconds) {
  const int64_t deadline = monotonic_ns() + milliseconds * million;
  for (;;) {
    process_.waitForFinished(milliseconds == 0 ? 0 : 2);
    on_readable();
    if (done()) return true;
    if (ended() || monotonic_ns() >= deadline) return false;
    if (monotonic_ns() - looked_ns_ > 20 * million) find_processes();
  }
}

int Run::code() const { return code_of(process_); }

std::optional<int64_t> Run::first_said(const std::string& pattern) const {
  const std::regex expression(pattern, std::regex::icase);
  for (const Received& moment : received_) {
    const std::string text = errors_.substr(0, moment.size);
    if (std::regex_search(text, expression)) return moment.ns;
  }
  return std::nullopt;
}

std::vector<std::string> Run::files_left() const {
  std::vector<std::string> left = groups_of(launcher_.pid);
  for (const auto& [folder, opened] : folders_) {
    for (const std::string& name : names_in(opened)) left.push_back(folder + "/" + name);
  }
  return left;
}

}  // namespace shardscope::faults
