#include "engine/session/child_process.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>

#include "engine/base/error.h"

namespace shardscope {

namespace {

constexpr int child_patience_ms = 2000;

[[noreturn]] void refuse_program(const std::string& program, int error_number) {
  throw Failure(Error{"start_program", "cannot start '" + program + "': " + std::strerror(error_number), "", ""});
}

std::vector<std::string> environment_with(const ChildProcess::Environment& additions) {
  std::vector<std::string> result;
  for (char** entry = environ; *entry; ++entry) {
    std::string text = *entry;
    bool replaced = false;
    for (const auto& [key, value] : additions) replaced = replaced || text.starts_with(key + "=");
    if (!replaced) result.push_back(text);
  }
  for (const auto& [key, value] : additions) result.push_back(key + "=" + value);
  return result;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> result;
  for (std::string& text : texts) result.push_back(text.data());
  result.push_back(nullptr);
  return result;
}

struct Pipe {
  int read = -1, write = -1;
  explicit Pipe(const std::string& program) {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) refuse_program(program, errno);
    read = ends[0];
    write = ends[1];
  }
  ~Pipe() {
    if (read >= 0) ::close(read);
    if (write >= 0) ::close(write);
  }
  void close_write() { ::close(std::exchange(write, -1)); }
};

void enter_cgroup(const char* entrance) {
  const int file = *entrance ? ::open(entrance, O_WRONLY | O_CLOEXEC) : -1;
  if (file < 0) return;
  [[maybe_unused]] const ssize_t written = ::write(file, "0", 1);
  ::close(file);
}

void allow_open_files() {
  rlimit files{};
  if (::getrlimit(RLIMIT_NOFILE, &files) != 0) return;
  files.rlim_cur = files.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &files);
}

// Between fork and exec: only calls that are safe there. Reports errno to the parent when it fails.
[[noreturn]] void become(char* const* arguments, char* const* environment, const char* cgroup_entrance, int parent,
                         int input, int output, int report) {
  enter_cgroup(cgroup_entrance);
  allow_open_files();
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(1);
  for (int signal : {SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGCHLD, SIGTSTP, SIGCONT, SIGXFSZ}) ::signal(signal, SIG_DFL);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  if (::dup2(input, 0) == 0 && ::dup2(output, 1) == 1 && ::dup2(output, 2) == 2) {
    ::execvpe(arguments[0], arguments, environment);
  }
  int error_number = errno;
  ssize_t written = ::write(report, &error_number, sizeof error_number);
  ::_exit(written > 0 ? 127 : 126);
}

}  // namespace

ChildProcess::ChildProcess(const std::vector<std::string>& arguments, const Environment& additions,
                           const std::string& cgroup_entrance, const std::string& input) {
  std::vector<std::string> argument_texts = arguments;
  std::vector<std::string> environment_texts = environment_with(additions);
  std::vector<char*> argument_pointers = pointers(argument_texts);
  std::vector<char*> environment_pointers = pointers(environment_texts);
  Pipe given(arguments.at(0)), output(arguments.at(0)), report(arguments.at(0));
  if (::write(given.write, input.data(), input.size()) != static_cast<ssize_t>(input.size()))
    refuse_program(arguments[0], errno);
  int parent = ::getpid();
  pid_ = ::fork();
  if (pid_ < 0) refuse_program(arguments[0], errno);
  if (pid_ == 0) {
    become(argument_pointers.data(), environment_pointers.data(), cgroup_entrance.c_str(), parent, given.read,
           output.write, report.write);
  }
  report.close_write();
  int error_number = 0;
  ssize_t got;
  do got = ::read(report.read, &error_number, sizeof error_number);
  while (got < 0 && errno == EINTR);
  if (got == sizeof error_number) {
    while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
    }
    refuse_program(arguments[0], error_number);
  }
  ::fcntl(output.read, F_SETFL, O_NONBLOCK);
  output_ = std::exchange(output.read, -1);
}

ChildProcess::~ChildProcess() {
  send_signal(SIGKILL);
  for (int waited_ms = 0; !wait_status() && waited_ms < child_patience_ms; ++waited_ms) ::poll(nullptr, 0, 1);
  ::close(output_);
}

std::optional<int> ChildProcess::wait_status() {
  int status = 0;
  if (!status_ && ::waitpid(pid_, &status, WNOHANG) == pid_) status_ = status;
  return status_;
}

void ChildProcess::send_signal(int signal) {
  if (!wait_status()) ::killpg(pid_, signal);
}

}  // namespace shardscope
