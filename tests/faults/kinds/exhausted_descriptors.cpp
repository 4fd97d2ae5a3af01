#include <fmt/format.h>
#include <sys/resource.h>

#include <filesystem>

#include "tests/faults/kinds/kinds.h"
#include "tests/faults/whole_runs.h"

namespace shardscope::faults {

// The launcher can open nothing any more, and the run is well.
std::vector<Fault> exhausted_descriptors() {
  Fault fault;
  fault.name = "no descriptors for the launcher";
  fault.phases = training;
  fault.expected = {"", {0}, 60};
  fault.prepare = [](Start& start, Random&) { ask_for_all_steps(start, 3000); };
  fault.inject = [](Run& run, Random&) {
    rlim_t lowest_free = 0;
    while (std::filesystem::is_symlink(fmt::format("/proc/{}/fd/{}", run.launcher(), lowest_free))) ++lowest_free;
    const rlimit none = {lowest_free, lowest_free};
    if (::prlimit(run.launcher(), RLIMIT_NOFILE, &none, nullptr) != 0) throw Missed{};
  };
  fault.check = check_all_steps;
  return {fault};
}

}  // namespace shardscope::faults
