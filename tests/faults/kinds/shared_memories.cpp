#include <fmt/format.h>
#include <sys/mount.h>

#include "tests/faults/kinds/kinds.h"
#include "tests/faults/whole_runs.h"

namespace shardscope::faults {

namespace {

// It trains, or says what is missing where.
Fault with_shared_memory(const std::string& name, unsigned long flags, const std::string& options) {
  Fault fault;
  fault.name = "/dev/shm " + name;
  fault.phases = at_start;
  fault.expected = {"", {0, 1}, 30};
  if (!can_mount()) fault.lacks = "the right to mount";
  fault.prepare = [flags, options](Start& start, Random&) {
    start.mounts.push_back({"none", "/dev/shm", "tmpfs", flags, options});
    ask_for_all_steps(start, 5);
    start.settings = {"model.dmid=200000", "data.batch_size=64", "optimizer.learning_rate=1e-12"};
  };
  fault.check = [](const Run& run) { check_all_steps_or(run, "shared memory|/dev/shm"); };
  return fault;
}

}  // namespace

std::vector<Fault> shared_memories() {
  Fault container = with_shared_memory("of 64 MiB, as in containers", 0, "size=64m");
  container.expected = {"", {0}, 60};
  return {container, with_shared_memory("that is full", 0, "size=4k"), with_shared_memory("of 20 MiB", 0, "size=20m"),
          with_shared_memory("that is read-only", MS_RDONLY, "")};
}

}  // namespace shardscope::faults
