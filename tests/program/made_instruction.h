#pragma once

#include "engine/program/instruction.h"

namespace shardscope::test {

// An instruction of that kind, of no arrays.
inline Instruction instruction_of(InstructionKind kind, std::initializer_list<int> axes = {}, int channel = -1) {
  Instruction instruction;
  switch (kind) {
    case InstructionKind::compute: instruction.body = Compute{}; break;
    case InstructionKind::slice: instruction.body = Slice{}; break;
    case InstructionKind::send: instruction.body = Send{{}, channel, 0}; break;
    case InstructionKind::receive: instruction.body = Receive{{}, channel, 0}; break;
    case InstructionKind::collective_done: break;  // done_of()
    default: {
      CollectiveStart collective;
      collective.kind = kind;
      for (const int axis : axes) collective.axes.push_back(static_cast<AxisIndex>(axis));
      instruction.body = std::move(collective);
    }
  }
  return instruction;
}

// The done of the collective that starts as the index-th instruction of its task.
inline Instruction done_of(InstructionKind collective, int index) {
  return {Phase::forward, no_id, CollectiveDone{collective, index, {}}};
}

}  // namespace shardscope::test
