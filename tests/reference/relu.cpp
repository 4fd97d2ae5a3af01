#include "tests/reference/named_reference.h"

namespace shardscope::reference {

namespace {

Results relu(const Call& call) { return {call.values(0).max(0)}; }

// Of relu's result.
Results relu_grad(const Call& call) { return {(call.values(0) > 0).select(call.values(1), 0)}; }

}  // namespace

std::vector<NamedReference> relu_references() { return {{"relu", relu}, {"relu_grad", relu_grad}}; }

}  // namespace shardscope::reference
