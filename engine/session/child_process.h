#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/session/processes.h"

namespace shardscope {

// A program started in its own process group, its input empty or a short text, its output and error joined in one pipe,
// with as many open files as the system allows. It is killed when this object goes, and by the kernel when the thread
// that made it dies in whatever way.
class ChildProcess {
 public:
  using Environment = std::vector<std::pair<std::string, std::string>>;

  // Throws Failure (code start_program) when the program cannot be started. `additions` replace variables of the
  // same name; `cgroup_entrance` is RunCgroup::entrance(); `input` at most 4096 bytes.
  ChildProcess(const std::vector<std::string>& arguments, const Environment& additions,
               const std::string& cgroup_entrance = "", const std::string& input = "");
  ~ChildProcess();  // does not wait long for what the kernel cannot end
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  int pid() const { return pid_; }
  int output() const { return output_; }  // non-blocking
  // As waitpid gives it, once the program has ended.
  std::optional<int> wait_status();
  // To its process group; without effect once it has ended.
  void send_signal(int signal);

 private:
  int pid_ = -1;
  int output_ = -1;
  std::optional<int> status_;
};

}  // namespace shardscope
