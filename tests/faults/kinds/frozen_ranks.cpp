#include "tests/faults/cgroup.h"
#include "tests/faults/kinds/kinds.h"

namespace shardscope::faults {

namespace {

Fault frozen(const std::string& name, Cgroup::Kind kind) {
  Fault fault;
  fault.name = "a rank " + name;
  fault.phases = {Phase::joining, Phase::initialising, Phase::computing, Phase::exchanging};
  fault.expected = {"rank %r.*(frozen|stuck|heartbeat|sign of life|progress|moved|did not)", {1}};
  if (!Cgroup::can_make(kind)) fault.lacks = "the right to make such a control group";
  fault.inject = [kind](Run& run, Random&) {
    const Cgroup group(kind);
    if (!group.add(there(run.rank())) || !group.set_frozen(true)) throw Missed{};
    run.go_on(20'000);
    group.set_frozen(false);
  };
  return fault;
}

}  // namespace

std::vector<Fault> frozen_ranks() {
  return {frozen("frozen so that no signal ends it", Cgroup::Kind::freezer_1),
          frozen("frozen", Cgroup::Kind::freezer_2)};
}

}  // namespace shardscope::faults
