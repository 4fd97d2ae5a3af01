#include "tests/reference/named_reference.h"

namespace shardscope::reference {

namespace {

Results no_update(const Call& call) { return {call.values(0)}; }

}  // namespace

std::vector<NamedReference> no_update_references() { return {{"no_update", no_update}}; }

}  // namespace shardscope::reference
