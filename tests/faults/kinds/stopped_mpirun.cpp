#include "tests/faults/kinds/kinds.h"

namespace shardscope::faults {

std::vector<Fault> stopped_mpirun() {
  Fault fault;
  fault.name = "SIGSTOP to mpirun";
  fault.phases = from_joining;
  fault.phases.insert(fault.phases.begin(), Phase::starting);
  fault.expected = {"mpirun has been stopped", {1}};
  fault.inject = [](Run& run, Random&) { send(there(run.mpirun()), SIGSTOP); };
  return {fault};
}

}  // namespace shardscope::faults
