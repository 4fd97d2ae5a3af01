#include <fmt/format.h>

#include "tests/faults/kinds/kinds.h"
#include "tests/faults/whole_runs.h"

namespace shardscope::faults {

namespace {

// It trains to the end all the same, or says which limit is in the way.
Fault limit(const std::string& name, const std::string& option, const std::string& said) {
  Fault fault;
  fault.name = name;
  fault.phases = at_start;
  fault.expected = {"", {0, 1, 2}};
  fault.prepare = [option](Start& start, Random&) {
    start.before = {"prlimit", option};
    ask_for_all_steps(start, 20);
  };
  fault.check = [said](const Run& run) { check_all_steps_or(run, said); };
  return fault;
}

}  // namespace

std::vector<Fault> limits() {
  const std::string descriptors = "too many open files|descriptor|open files",
                    size = "file too large|SIGXFSZ|file size",
                    memory = "cannot allocate|out of memory|bad_alloc|address space|memory";
  Fault mask;
  mask.name = "umask 777";
  mask.phases = at_start;
  mask.expected = {"", {0}, 30};
  mask.prepare = [](Start& start, Random&) {
    start.umask = 0777;
    start.steps = 20;
  };
  std::vector<Fault> faults = {mask};
  for (int count : {12, 16, 20, 24, 32}) {
    faults.push_back(limit(fmt::format("ulimit -n {}", count), fmt::format("--nofile={}", count), descriptors));
  }
  for (int kib : {0, 1, 100, 1000}) {
    faults.push_back(limit(fmt::format("ulimit -f {}", kib), fmt::format("--fsize={}", kib << 10), size));
  }
  for (int mib : {400, 800}) {
    faults.push_back(limit(fmt::format("ulimit -v {} MiB", mib), fmt::format("--as={}", int64_t{mib} << 20), memory));
  }
  return faults;
}

}  // namespace shardscope::faults
