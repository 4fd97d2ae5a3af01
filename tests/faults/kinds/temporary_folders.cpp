#include <fmt/format.h>
#include <sys/mount.h>

#include "tests/faults/kinds/kinds.h"
#include "tests/faults/whole_runs.h"

namespace shardscope::faults {

namespace {

// It trains to the end all the same, or says what is in the way.
Fault on_a_disk(const std::string& name, unsigned long flags, const std::string& options, const std::string& said) {
  Fault fault;
  fault.name = "TMPDIR " + name;
  fault.phases = at_start;
  fault.expected = {"", {0, 1, 2}};
  if (!can_mount()) fault.lacks = "the right to mount";
  fault.prepare = [flags, options](Start& start, Random&) {
    start.mounts.push_back({"none", start.temporary(), "tmpfs", flags, options});
    ask_for_all_steps(start, 20);
  };
  fault.check = [said](const Run& run) { check_all_steps_or(run, said); };
  return fault;
}

}  // namespace

std::vector<Fault> temporary_folders() {
  const std::string full = "no space left", read_only = "read-only file system";
  std::vector<Fault> faults = {on_a_disk("read-only", MS_RDONLY, "", read_only)};
  for (int kib : {4, 16, 64, 256, 1024, 2048, 4096}) {
    faults.push_back(on_a_disk(fmt::format("on a disk of {} KiB", kib), 0, fmt::format("size={}k", kib), full));
  }
  for (int nodes : {1, 2, 4, 6, 8}) {
    faults.push_back(
        on_a_disk(fmt::format("on a disk of {} files", nodes), 0, fmt::format("nr_inodes={}", nodes), full));
  }
  Fault missing;
  missing.name = "TMPDIR that is missing";
  missing.phases = at_start;
  missing.expected = {"no such file", {1, 2}};
  missing.prepare = [](Start& start, Random&) { start.environment["TMPDIR"] = start.folder + "/none"; };
  faults.push_back(missing);
  return faults;
}

}  // namespace shardscope::faults
