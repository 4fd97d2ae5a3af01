#include <sys/mount.h>

#include "tests/faults/kinds/kinds.h"
#include "tests/faults/whole_runs.h"

namespace shardscope::faults {

namespace {

// The ranks share memory that has no place there: it trains.
Fault with_shared_memory(const std::string& name, unsigned long flags, const std::string& options) {
  Fault fault;
  fault.name = "/dev/shm " + name;
  fault.phases = at_start;
  fault.expected = {"", {0}, 60};
  if (!can_mount()) fault.lacks = "the right to mount";
  fault.prepare = [flags, options](Start& start, Random&) {
    start.mounts.push_back({"none", "/dev/shm", "tmpfs", flags, options});
    ask_for_all_steps(start, 5);
    start.settings = {"model.dmid=200000", "data.batch_size=64", "optimizer.learning_rate=1e-12"};
  };
  fault.check = check_all_steps;
  return fault;
}

// The last argument is the file of its steps.
Fault two_runs_with_shared_memory(const std::string& name, const std::string& options) {
  Fault fault = with_shared_memory(name + ", two runs at once", 0, options);
  fault.prepare = [prepare = fault.prepare](Start& start, Random& random) {
    prepare(start, random);
    start.before = {"bash", "-c",
                    "\"${@:1:$#-1}\" \"${@: -1}.second\" & \"$@\"; first=$?; wait $!; second=$?; "
                    "exit $((first > second ? first : second))",
                    "bash"};
  };
  fault.check = [](const Run& run) {
    check_all_steps(run);
    check_all_steps_in(run.start().jsonl() + ".second", run.start().steps);
  };
  return fault;
}

}  // namespace

std::vector<Fault> shared_memories() {
  return {with_shared_memory("of 64 MiB, as in containers", 0, "size=64m"),
          with_shared_memory("that is full", 0, "size=4k"),
          with_shared_memory("of 20 MiB", 0, "size=20m"),
          with_shared_memory("that is read-only", MS_RDONLY, ""),
          two_runs_with_shared_memory("that is full", "size=4k"),
          two_runs_with_shared_memory("of 20 MiB", "size=20m")};
}

}  // namespace shardscope::faults
