#pragma once

#include <set>
#include <string>
#include <vector>

#include "engine/session/processes.h"

namespace shardscope::faults {

// The processes of one trial, wherever they have got to: a variable in the environment tells them, which children
// inherit from the process that the test has started, and which no other process has.
class MarkedProcesses {
 public:
  static constexpr const char* variable = "SHARDSCOPE_TRIAL";

  explicit MarkedProcesses(const std::string& mark);

  void look();  // finds those that are new
  std::vector<ProcessId> alive();
  std::vector<ProcessId> ever() const { return found_; }

 private:
  std::string entry_;
  std::set<int> seen_;
  std::vector<ProcessId> found_;
};

std::vector<std::string> command_line(int pid);
std::string environment_variable(int pid, const std::string& name);  // empty where it has none
// "mpirun (pid 12, S)", for complaints.
std::string to_text(const ProcessId& process);

}  // namespace shardscope::faults
