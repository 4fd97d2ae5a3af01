#pragma once

#include <vector>

#include "engine/graph/graph.h"
#include "engine/mesh/reshard.h"
#include "engine/program/program_value.h"
#include "engine/program/step.h"

namespace shardscope {

// Steps that move values, with what they send and touch. Their phase, and of a transfer its channel, is the caller's.

// One part of a reshard's path, from program value `source` to `made`.
Step reshard_step(const ReshardStep& part, const std::vector<ProgramValue>& values, const Mesh& mesh,
                  const Cause& cause, int source, int made);

// What a stage holds, and what another one receives of it, in one message.
struct TransferSteps {
  Step send, receive;
};
TransferSteps transfer_steps(const std::vector<ProgramValue>& values, const Graph& graph, const std::vector<int>& held,
                             const std::vector<int>& received);

}  // namespace shardscope
