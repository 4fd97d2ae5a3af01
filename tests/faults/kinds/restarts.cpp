#include "tests/faults/kinds/kinds.h"
#include "tests/faults/whole_runs.h"

namespace shardscope::faults {

namespace {

Fault restart_after(int signal, const std::string& harm, const std::string& said) {
  Fault fault;
  fault.name = "a rank " + harm + ", with --max-restarts 1";
  fault.phases = {Phase::joining, Phase::planning, Phase::computing, Phase::exchanging};
  fault.expected = {"rank %r " + said + ".*starting again from step 0", {0}};
  fault.prepare = [](Start& start, Random&) {
    ask_for_all_steps(start, 2000);
    start.arguments.insert(start.arguments.end(), {"--max-restarts", "1"});
  };
  fault.inject = [signal](Run& run, Random&) { send(there(run.rank()), signal); };
  fault.check = check_all_steps;
  return fault;
}

}  // namespace

std::vector<Fault> restarts() {
  return {restart_after(SIGKILL, "killed", "was killed by SIGKILL"),
          restart_after(SIGSTOP, "stopped", "has been stopped")};
}

}  // namespace shardscope::faults
