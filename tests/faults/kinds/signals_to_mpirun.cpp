#include "tests/faults/kinds/kinds.h"

namespace shardscope::faults {

// mpirun ends its ranks at some of these and exits, hands others to them, and dies of the rest.
std::vector<Fault> signals_to_mpirun() {
  std::vector<Fault> faults;
  std::vector<Phase> phases = from_joining;
  phases.insert(phases.begin(), Phase::starting);
  for (int signal : {SIGKILL, SIGSEGV, SIGTERM, SIGINT, SIGBUS, SIGHUP, SIGQUIT}) {
    Fault fault;
    fault.name = signal_name(signal) + " to mpirun";
    fault.phases = phases;
    const bool is_heeded = signal == SIGTERM || signal == SIGINT || signal == SIGHUP;
    fault.expected = {"mpirun was killed by " + signal_name(signal), {1}};
    if (is_heeded) fault.expected.said += "|mpirun ended with exit code 1 before every rank had finished";
    fault.inject = [signal](Run& run, Random&) { send(there(run.mpirun()), signal); };
    faults.push_back(fault);
  }
  // Handed to the ranks: without effect before there are any.
  for (int signal : {SIGABRT, SIGUSR1, SIGUSR2}) {
    Fault fault;
    fault.name = signal_name(signal) + " to mpirun";
    fault.phases = from_joining;
    fault.expected = {"(mpirun|rank \\d+) was killed by " + signal_name(signal), {1}};
    fault.inject = [signal](Run& run, Random&) { send(there(run.mpirun()), signal); };
    faults.push_back(fault);
  }
  return faults;
}

}  // namespace shardscope::faults
