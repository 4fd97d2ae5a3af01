#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "engine/session/processes.h"

namespace shardscope::faults {

// As the kernel tells it to the judge, who does not ask the program that is judged.
struct SeenProcess {
  ProcessId id;
  int parent = 0;
  char state = '?';
};
std::optional<SeenProcess> see_process(int pid);  // nothing where there is none
bool lives(const ProcessId& process);             // is there, and no zombie

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
