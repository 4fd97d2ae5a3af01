#include "tests/faults/kinds/kinds.h"

namespace shardscope::faults {

// Every signal that stops a process by default.
std::vector<Fault> stops_of_a_rank() {
  std::vector<Fault> faults;
  for (int signal : {SIGSTOP, SIGTSTP, SIGTTIN, SIGTTOU}) {
    Fault fault;
    fault.name = signal_name(signal) + " to a rank";
    fault.phases = from_joining;
    fault.expected = {"rank %r has been stopped", {1}};
    fault.inject = [signal](Run& run, Random&) { send(there(run.rank()), signal); };
    faults.push_back(fault);
  }
  return faults;
}

}  // namespace shardscope::faults
