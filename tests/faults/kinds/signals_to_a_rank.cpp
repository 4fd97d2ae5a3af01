#include "tests/faults/kinds/kinds.h"

namespace shardscope::faults {

// Every signal that ends a process by default, but for SIGXFSZ, which this program ignores; of the real-time ones the
// first.
std::vector<Fault> signals_to_a_rank() {
  std::vector<Fault> faults;
  for (int signal :
       {SIGKILL, SIGSEGV, SIGABRT, SIGTERM, SIGINT,  SIGBUS,    SIGHUP,  SIGQUIT, SIGPIPE, SIGUSR1,   SIGUSR2, SIGFPE,
        SIGILL,  SIGALRM, SIGXCPU, SIGSYS,  SIGTRAP, SIGVTALRM, SIGPROF, SIGPOLL, SIGPWR,  SIGSTKFLT, SIGRTMIN}) {
    Fault fault;
    fault.name = signal_name(signal) + " to a rank";
    fault.phases = from_joining;
    fault.expected = {"rank %r was killed by " + signal_name(signal), {1}};
    fault.inject = [signal](Run& run, Random&) { send(there(run.rank()), signal); };
    faults.push_back(fault);
  }
  return faults;
}

}  // namespace shardscope::faults
