#include "tests/faults/kinds/kinds.h"

namespace shardscope::faults {

// mpirun ends its ranks at some of these, hands others to them, and dies of the rest.
std::vector<Fault> signals_to_mpirun() {
  std::vector<Fault> faults;
  std::vector<Phase> phases = from_joining;
  phases.insert(phases.begin(), Phase::starting);
  for (int signal : {SIGKILL, SIGSEGV, SIGTERM, SIGINT, SIGBUS, SIGHUP, SIGQUIT}) {
    Fault fault;
    fault.name = signal_name(signal) + " to mpirun";
    fault.phases = phases;
    fault.expected = {"mpirun (was|has been|has|died|ended|exited)", {1}};
    if (signal == SIGKILL) fault.expected.said += ".*SIGKILL";
    fault.inject = [signal](Run& run, Random&) { send(there(run.mpirun()), signal); };
    faults.push_back(fault);
  }
  // Handed to the ranks: without effect before there are any.
  for (int signal : {SIGABRT, SIGUSR1, SIGUSR2}) {
    Fault fault;
    fault.name = signal_name(signal) + " to mpirun";
    fault.phases = from_joining;
    fault.expected = {"(mpirun|rank \\d+) (was|has been|has|died|ended|exited).*" + signal_name(signal), {1}};
    fault.inject = [signal](Run& run, Random&) { send(there(run.mpirun()), signal); };
    faults.push_back(fault);
  }
  return faults;
}

}  // namespace shardscope::faults
