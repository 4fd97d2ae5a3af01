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
  const std::string descriptors = "\\d+ open files are allowed, [24] ranks need \\d+",
                    size = "cannot reserve space for: file too large|the file size limit is \\d+ KiB",
                    memory = "the address space of a process is limited to \\d+ MiB .ulimit -v.";
  Fault mask;
  mask.name = "umask 777, not as root";
  mask.phases = at_start;
  mask.expected = {"", {0}, 30};
  mask.prepare = [](Start& start, Random&) {
    start.umask = 0777;
    start.as_nobody = true;
    start.steps = 20;
  };
  std::vector<Fault> faults = {mask};
  for (int count : {12, 16, 20, 24, 32}) {
    faults.push_back(limit(fmt::format("ulimit -n {}", count), fmt::format("--nofile={}", count), descriptors));
  }
  for (int kib : {0, 1, 100, 1000}) {
    faults.push_back(limit(fmt::format("ulimit -f {}", kib), fmt::format("--fsize={}", kib << 10), size));
  }
#ifndef __SANITIZE_ADDRESS__  // which maps terabytes
  for (int mib : {100, 130, 200, 400, 800}) {
    faults.push_back(limit(fmt::format("ulimit -v {} MiB", mib), fmt::format("--as={}", int64_t{mib} << 20), memory));
  }
#endif
  for (int kib : {64, 511}) {
    Fault fault = limit(fmt::format("ulimit -s {}", kib), fmt::format("--stack={}", kib << 10), "");
    fault.expected = {fmt::format("the stack limit is {} KiB, a rank needs 512 KiB .ulimit -s \\d+.", kib), {1}};
    fault.check = [](const Run&) {};
    faults.push_back(std::move(fault));
  }
  Fault least = limit("ulimit -s 512, the least", "--stack=524288", "");
  least.expected = {"", {0}};
  least.check = check_all_steps;
  faults.push_back(std::move(least));
  return faults;
}

}  // namespace shardscope::faults
