#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <memory>
#include <optional>

#include "tests/faults/cgroup.h"
#include "tests/faults/kinds/kinds.h"

namespace shardscope::faults {

namespace {

constexpr int64_t memory_limit = int64_t{1} << 30;

// Takes all the memory of a group, slowly, until it is asked to stop. The kernel shall end a rank for it.
class Hog {
 public:
  Hog() : pid_(::fork()) {
    if (pid_ != 0) return;
    ::raise(SIGSTOP);
    void* memory = ::mmap(nullptr, 2 * memory_limit, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) ::_exit(1);
    for (int64_t at = 0; at < 2 * memory_limit; at += 4096) {
      static_cast<char*>(memory)[at] = 1;
      if (at % (4 << 20) == 0) ::usleep(1000);
    }
    ::_exit(0);
  }
  ~Hog() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  Hog(const Hog&) = delete;
  int pid() const { return pid_; }

 private:
  int pid_;
};

void prefer_to_end(int pid, int score) { std::ofstream(fmt::format("/proc/{}/oom_score_adj", pid)) << score; }

}  // namespace

std::vector<Fault> exhausted_memory() {
  Fault fault;
  fault.name = "out of memory in a control group";
  fault.phases = training;
  fault.expected = {
      "rank %r was killed by the kernel for lack of memory.*the plan wants [\\d.]+ [KMG]iB a rank.* and 1.00 GiB can "
      "be used",
      {1}};
  if (!Cgroup::can_make(Cgroup::Kind::memory)) fault.lacks = "the right to make a memory control group";
  const auto group = std::make_shared<std::optional<Cgroup>>();
  fault.prepare = [group](Start& start, Random&) {
    group->emplace(Cgroup::Kind::memory).limit_memory(memory_limit);
    start.before = {"sh", "-c", fmt::format("echo $$ > {}/cgroup.procs; exec \"$@\"", (*group)->path()), "sh"};
  };
  fault.inject = [group](Run& run, Random&) {
    const Hog hog;
    prefer_to_end(there(run.rank()), 1000);
    prefer_to_end(hog.pid(), -999);
    (*group)->add(hog.pid());
    ::kill(hog.pid(), SIGCONT);
    if (!run.run_until([&] { return !run.rank(); }, 30'000)) throw Missed{};
    run.begin_fault();
  };
  return {fault};
}

}  // namespace shardscope::faults
