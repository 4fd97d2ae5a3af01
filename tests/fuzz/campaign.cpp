#include "tests/fuzz/campaign.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstring>
#include <ctime>
#include <exception>
#include <new>

#include "engine/session/processes.h"

namespace shardscope::fuzz {

namespace {

constexpr size_t most_text = 4000;
constexpr double most_wall_factor = 30;  // of processor time: for an input that sleeps

// Written by the worker, read by its parent.
struct Progress {
  std::atomic<int64_t> number;  // in work, or the one to begin with
  std::atomic<int64_t> refused;
  std::atomic<int64_t> slowest;
  std::atomic<double> slowest_seconds;
};

struct FaultRecord {
  int64_t number = 0;
  char text[most_text] = "";
};

class SharedProgress {
 public:
  SharedProgress() {
    void* memory = ::mmap(nullptr, sizeof(Progress), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) throw std::bad_alloc();
    progress_ = new (memory) Progress{};
  }
  ~SharedProgress() { ::munmap(progress_, sizeof(Progress)); }
  SharedProgress(const SharedProgress&) = delete;
  Progress* operator->() const { return progress_; }

 private:
  Progress* progress_;
};

double seconds_of(clockid_t clock) {
  timespec time{};
  ::clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

double processor_seconds(pid_t process) {
  clockid_t clock = 0;
  return ::clock_getcpuclockid(process, &clock) == 0 ? seconds_of(clock) : 0;
}

void report_fault(int pipe, int64_t number, const std::string& text) {
  FaultRecord record;
  record.number = number;
  text.copy(record.text, most_text - 1);
  [[maybe_unused]] const ssize_t written = ::write(pipe, &record, sizeof record);
}

Answer answer_to(const Target& target, const std::string& input) {
  try {
    return target.run(input);
  } catch (const std::exception& error) {
    return {true, std::string("throws ") + error.what()};
  }
}

[[noreturn]] void work(const Target& target, const Campaign& campaign, SharedProgress& progress, int faults,
                       int errors) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  ::dup2(::open("/dev/null", O_RDWR), STDIN_FILENO);
  ::dup2(::memfd_create("output", MFD_CLOEXEC), STDOUT_FILENO);
  ::dup2(errors, STDERR_FILENO);
  for (int64_t end = campaign.first + campaign.inputs; progress->number < end; ++progress->number) {
    const int64_t number = progress->number;
    const std::string input = input_of_number(target, campaign.seed, number);
    const double begun = seconds_of(CLOCK_PROCESS_CPUTIME_ID);
    const Answer answer = answer_to(target, input);
    const double seconds = seconds_of(CLOCK_PROCESS_CPUTIME_ID) - begun;
    if (answer.refused) ++progress->refused;
    if (seconds > progress->slowest_seconds) {
      progress->slowest_seconds = seconds;
      progress->slowest = number;
    }
    if (!answer.fault.empty()) report_fault(faults, number, answer.fault);
    if (seconds > campaign.seconds) report_fault(faults, number, fmt::format("takes {:.1f} s", seconds));
  }
  ::_exit(0);
}

std::string text_of(int file) {
  std::string text(100'000, '\0');
  const ssize_t got = ::pread(file, text.data(), text.size(), 0);
  text.resize(got > 0 ? static_cast<size_t>(got) : 0);
  return text;
}

// A worker and the parent's view of it.
class Worker {
 public:
  Worker(const Target& target, const Campaign& campaign, SharedProgress& progress)
      : target_(target), campaign_(campaign), progress_(progress) {
    errors_ = ::memfd_create("errors", MFD_CLOEXEC);
    int ends[2] = {-1, -1};
    if (errors_ < 0 || ::pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error(std::strerror(errno));
    faults_ = ends[0];
    pid_ = ::fork();
    if (pid_ == 0) work(target, campaign, progress, ends[1], errors_);
    ::close(ends[1]);
  }
  ~Worker() {
    ::close(faults_);
    ::close(errors_);
  }
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  // Until it has gone. Returns whether it has done all.
  bool follow(std::vector<Finding>& findings) {
    int64_t number = -1;
    double begun = 0, begun_wall = 0;
    bool slow = false;
    int status = 0;
    for (bool open = true; open || ::waitpid(pid_, &status, WNOHANG) == 0;) {
      open = read_fault(findings) && open;
      const double now = processor_seconds(pid_), wall = seconds_of(CLOCK_MONOTONIC);
      if (progress_->number != number) {
        number = progress_->number;
        begun = now;
        begun_wall = wall;
      }
      // A little more than its own measure allows, so that it can say itself how long it took.
      slow = now - begun > 5 * campaign_.seconds || wall - begun_wall > most_wall_factor * campaign_.seconds;
      if (slow) ::kill(pid_, SIGKILL);
      if (slow) open = false;
    }
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return true;
    const std::string what = slow                  ? fmt::format("takes longer than {} s", 5 * campaign_.seconds)
                             : WIFSIGNALED(status) ? "ends by " + signal_name(WTERMSIG(status))
                                                   : fmt::format("exits with {}", WEXITSTATUS(status));
    findings.push_back({target_.name, progress_->number, what, text_of(errors_)});
    return false;
  }

 private:
  // False when the worker has closed its end.
  bool read_fault(std::vector<Finding>& findings) {
    pollfd entry = {faults_, POLLIN, 0};
    if (::poll(&entry, 1, 20) <= 0) return true;
    FaultRecord record;
    if (::read(faults_, &record, sizeof record) != static_cast<ssize_t>(sizeof record)) return false;
    findings.push_back({target_.name, record.number, record.text, ""});
    return true;
  }

  const Target& target_;
  const Campaign& campaign_;
  SharedProgress& progress_;
  int errors_ = -1, faults_ = -1;
  pid_t pid_ = -1;
};

}  // namespace

std::string input_of_number(const Target& target, uint64_t seed, int64_t number) {
  const auto index = static_cast<size_t>(number);
  if (index < target.corpus.size()) return target.corpus[index];
  Random random(seed * 0x9e3779b97f4a7c15 + static_cast<uint64_t>(number));
  return target.mutate(random.of(target.corpus), random);
}

TargetResult run_campaign(const Target& target, const Campaign& campaign) {
  TargetResult result;
  result.name = target.name;
  result.inputs = campaign.inputs;
  SharedProgress progress;
  progress->number = campaign.first;
  while (!Worker(target, campaign, progress).follow(result.findings)) ++progress->number;
  result.refused = progress->refused;
  result.slowest = progress->slowest;
  result.slowest_seconds = progress->slowest_seconds;
  return result;
}

}  // namespace shardscope::fuzz
