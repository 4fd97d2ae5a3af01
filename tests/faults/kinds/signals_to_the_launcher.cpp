#include "tests/faults/kinds/kinds.h"

namespace shardscope::faults {

std::vector<Fault> signals_to_the_launcher() {
  std::vector<Phase> phases = from_joining;
  phases.insert(phases.begin(), {Phase::launching, Phase::starting});
  std::vector<Fault> faults;
  for (int signal : {SIGINT, SIGTERM, SIGHUP, SIGKILL, SIGSEGV, SIGABRT, SIGBUS, SIGQUIT, SIGUSR1}) {
    Fault fault;
    fault.name = signal_name(signal) + " to the launcher";
    fault.phases = phases;
    fault.expected = {"", {128 + signal}};
    fault.expected.leaves_files = signal != SIGINT && signal != SIGTERM && signal != SIGHUP;
    fault.expected.settled = fault.expected.leaves_files ? 5 : 1;
    fault.inject = [signal](Run& run, Random&) { send(run.launcher(), signal); };
    faults.push_back(fault);
  }
  Fault twice;
  twice.name = "SIGINT to the launcher, twice";
  twice.phases = phases;
  twice.expected = {"", {128 + SIGINT}};
  twice.inject = [](Run& run, Random& random) {
    send(run.launcher(), SIGINT);
    run.run_for(static_cast<int64_t>(random() % 100));
    if (!run.ended()) send(run.launcher(), SIGINT);
  };
  faults.push_back(twice);
  return faults;
}

}  // namespace shardscope::faults
