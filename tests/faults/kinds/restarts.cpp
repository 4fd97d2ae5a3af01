#include "tests/faults/kinds/kinds.h"
#include "tests/faults/whole_runs.h"

namespace shardscope::faults {

std::vector<Fault> restarts() {
  Fault fault;
  fault.name = "a rank killed, with --max-restarts 1";
  fault.phases = {Phase::joining, Phase::planning, Phase::computing, Phase::exchanging};
  fault.expected = {"rank %r was killed by SIGKILL.*starting again from step 0", {0}};
  fault.prepare = [](Start& start, Random&) {
    ask_for_all_steps(start, 2000);
    start.arguments.insert(start.arguments.end(), {"--max-restarts", "1"});
  };
  fault.inject = [](Run& run, Random&) { send(there(run.rank()), SIGKILL); };
  fault.check = check_all_steps;
  return {fault};
}

}  // namespace shardscope::faults
