#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/faults/cgroup.h"
#include "tests/faults/kinds/kinds.h"

namespace shardscope::faults {

namespace {

const std::string frozen_by_group = "rank %r has been frozen by its control group";

Fault frozen(const std::string& name, Cgroup::Kind kind) {
  Fault fault;
  fault.name = "a rank frozen" + name;
  fault.phases = {Phase::joining, Phase::initialising, Phase::computing, Phase::exchanging};
  fault.expected = {frozen_by_group, {1}};
  if (!Cgroup::can_make(kind)) fault.lacks = "the right to make such a control group";
  return fault;
}

// The launcher ends it.
Fault frozen_alone(const std::string& name, Cgroup::Kind kind) {
  Fault fault = frozen(name, kind);
  fault.inject = [kind](Run& run, Random&) {
    const Cgroup group(kind);
    if (!group.add(there(run.rank())) || !group.set_frozen(true)) throw Missed{};
    run.run_for(20'000);
    group.set_frozen(false);
    if (!run.ended()) throw Complaint("the launcher has not ended while a rank was frozen");
  };
  return fault;
}

struct Bystander {
  int pid = ::fork();
  Bystander() {
    for (; pid == 0;) ::pause();
  }
  ~Bystander() {
    ::kill(pid, SIGKILL);
    ::waitpid(pid, nullptr, 0);
  }
  Bystander(const Bystander&) = delete;
};

// A group of version 1 in which a process of somebody else is frozen too is not the launcher's to thaw: the kernel
// keeps the rank, and its control group of the run with it until the next start.
Fault frozen_with_another() {
  Fault fault = frozen(" so that nothing ends it", Cgroup::Kind::freezer_1);
  fault.expected.leaves_files = true;
  fault.inject = [](Run& run, Random&) {
    const Cgroup group(Cgroup::Kind::freezer_1);
    const Bystander bystander;
    const int rank = there(run.rank());
    if (!group.add(bystander.pid) || !group.add(rank) || !group.set_frozen(true)) throw Missed{};
    run.run_for(20'000);
    const bool has_ended = run.ended(), is_kept = see_process(rank).has_value();
    group.set_frozen(false);
    if (!has_ended) throw Complaint("the launcher waits for a rank that cannot be ended");
    if (!is_kept) throw Complaint("the rank has been ended while it was frozen");
    const std::string kept = fmt::format("process {} .rank {}. could not be ended", rank, run.victim());
    if (!run.first_said(kept)) throw Complaint("did not say /" + kept + "/");
  };
  return fault;
}

}  // namespace

std::vector<Fault> frozen_ranks() {
  return {frozen_alone(" so that no signal ends it", Cgroup::Kind::freezer_1),
          frozen_alone("", Cgroup::Kind::freezer_2), frozen_with_another()};
}

}  // namespace shardscope::faults
