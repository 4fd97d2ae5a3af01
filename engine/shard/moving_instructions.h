#pragma once

#include <vector>

#include "engine/graph/graph.h"
#include "engine/mesh/reshard.h"
#include "engine/program/instruction.h"
#include "engine/program/program_value.h"

namespace shardscope {

// Instructions that move values, with what they send and touch. Their phase is the caller's.

// One part of a reshard's path, from program value `source` to `made`.
Instruction reshard_instruction(const ReshardStep& part, const std::vector<ProgramValue>& values, const Mesh& mesh,
                                const Cause& cause, int source, int made);

// An op that passes its operand on round the devices along `axes`, by `shift` of them, to those that receive something.
struct RingMove {
  AxisList axes;
  int64_t shift = 1;
  std::vector<int64_t> receivers;  // none are named: all
};
Instruction ring_instruction(Phase phase, OpId op, const std::vector<ProgramValue>& values, const Mesh& mesh,
                             int operand, int result, RingMove move);

// What a stage holds, and what another one receives of it, in one message of that channel.
struct TransferInstructions {
  Instruction send, receive;
};
TransferInstructions transfer_instructions(const std::vector<ProgramValue>& values, const Graph& graph,
                                           const std::vector<int>& held, const std::vector<int>& received, int channel);

}  // namespace shardscope
