#include <sys/ptrace.h>
#include <sys/wait.h>

#include "tests/faults/kinds/kinds.h"
#include "tests/faults/whole_runs.h"

namespace shardscope::faults {

// Someone looks at a rank with a debugger for longer than a stopped rank is borne with.
std::vector<Fault> debugged_ranks() {
  Fault fault;
  fault.name = "a debugger holds a rank for 6 s";
  fault.phases = training;
  fault.expected = {"rank %r .process \\d+. is held by a debugger", {0}};
  fault.prepare = [](Start& start, Random&) { ask_for_all_steps(start, 3000); };
  fault.inject = [](Run& run, Random&) {
    const int rank = there(run.rank());
    if (::ptrace(PTRACE_SEIZE, rank, nullptr, nullptr) != 0) throw Missed{};
    ::ptrace(PTRACE_INTERRUPT, rank, nullptr, nullptr);
    if (::waitpid(rank, nullptr, __WALL) != rank) throw Missed{};
    run.run_for(6000);
    if (::ptrace(PTRACE_DETACH, rank, nullptr, nullptr) != 0) throw Complaint("the rank was ended under the debugger");
  };
  fault.check = check_all_steps;
  return {fault};
}

}  // namespace shardscope::faults
