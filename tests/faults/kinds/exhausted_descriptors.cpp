#include <sys/resource.h>

#include "tests/faults/kinds/kinds.h"
#include "tests/faults/whole_runs.h"

namespace shardscope::faults {

// The starter can open nothing any more, and the run is well.
std::vector<Fault> exhausted_descriptors() {
  Fault fault;
  fault.name = "no descriptors for the starter";
  fault.phases = training;
  fault.expected = {"", {0}, 60};
  fault.prepare = [](Start& start, Random&) { ask_for_all_steps(start, 3000); };
  fault.inject = [](Run& run, Random&) {
    const rlimit none = {4, 4};
    if (::prlimit(run.starter(), RLIMIT_NOFILE, &none, nullptr) != 0) throw Missed{};
  };
  fault.check = check_all_steps;
  return {fault};
}

}  // namespace shardscope::faults
