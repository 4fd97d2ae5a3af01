#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mount.h>
#include <unistd.h>

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

// Another program takes all the room that is left.
Fault filled() {
  Fault fault = on_a_disk("on a disk that is filled up", 0, "size=16m", "no space is left");
  fault.phases = {Phase::starting, Phase::joining};
  fault.expected = {"", {0, 1}, 30};
  fault.inject = [](Run& run, Random&) {
    const std::string path = run.seen(run.start().temporary()) + "/filling", block(4096, '\1');
    const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    ::unlink(path.c_str());
    while (::write(file, block.data(), block.size()) > 0) {
    }
    run.run_for(20'000);
    ::close(file);
  };
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
  faults.push_back(filled());
  return faults;
}

}  // namespace shardscope::faults
