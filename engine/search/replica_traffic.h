#pragma once

#include <cstdint>
#include <vector>

#include "engine/base/instruction_kind.h"
#include "engine/mesh/mesh.h"
#include "engine/search/lowered_step.h"
#include "engine/search/parameter_tokens.h"

namespace shardscope {

// What the replicas of a candidate move in each run of a task, of parameters and their gradients of layers: in update
// sums of gradients and gathers of parameters; with ZeRO 2 or fsdp all-gathers in forward, both in backward.
struct ReplicaTraffic {
  enum Where : uint8_t { forward, backward, update };
  struct Moved {
    int part = 0;
    Where where = forward;
    InstructionKind kind = InstructionKind::all_gather;
    // Of the dimension that replicas split, on one device; where they do not divide it, it is not. 0: none is.
    int64_t size = 1;
    double bytes = 0;  // payload
    // What could move in its place: bytes of one row, what a device has at least; infinite where nothing could.
    TokensOfParameter tokens = {};

    bool is_beside(const Moved& other) const {  // one move of what both take may serve both
      return part == other.part && where == other.where && tokens.taken == other.tokens.taken;
    }
  };
  std::vector<Moved> moved;  // one behind the other: what is beside each other, and in that what is of one parameter
};

// Of a step that has two replicas, along this axis. `counts_update`: also what an update moves.
ReplicaTraffic replica_traffic(const LoweredStep& step, AxisIndex replicas, bool counts_update);

}  // namespace shardscope
