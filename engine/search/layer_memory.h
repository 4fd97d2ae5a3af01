#pragma once

#include <vector>

#include "engine/machine/stack.h"
#include "engine/program/arena_layout.h"
#include "engine/search/network_parts.h"

namespace shardscope {

// What the arena of a training step of a shortened network holds, by its parts (network_parts.h), in bytes. A layer's
// share of it is the same in the whole network; what a plan of several stages has more of, such as messages, is not in
// it.
struct LayerMemory {
  // In use at some positions of the step; and the part that runs there.
  struct Position {
    int part = 0;
    bool is_forward = false;
    std::vector<double> bytes;  // by part
  };
  std::vector<Position> positions;
  std::vector<double> constant;  // in use at all times of forward and backward
  // In use when forward has ended and backward not begun, whether or not the microbatch is the only one: made before
  // forward, such as states, what adds up, and casts of parameters.
  std::vector<double> between;
  // Likewise what one microbatch keeps from forward to backward, each value by the first part of which backward reads
  // it: so the stage that has the part keeps it, made there or received.
  std::vector<double> kept;
  // Of these what gradients of parameters are made of; and what backward makes that they are made of, by the first part
  // that has such a gradient. Where backward is split, both stay until its second half.
  std::vector<double> kept_for_weights, made_for_weights;
  // States and what adds up, as they are without replicas; of what is beside the layers, states alone.
  std::vector<double> parameters, optimizer, gradients;
  // The most that is in use while the part runs forward (or backward) of what it makes for that pass alone.
  std::vector<double> passing_forward, passing_backward;
};

// `coarse`: of `kept` and what passes, without what is made of states alone, and gradients of parameters, which
// replicas may share.
//
// Where gradients add up, what of them a layer still holds behind backward is not the same in all plans: of backward
// only the layer with which it begins counts among positions, before which no layer has been passed.
//
// As the software stack holds it (stack_memory.h); copies of gradients count as parameters, which they are split as.
LayerMemory memory_of_layers(const Program& program, const Graph& graph, const NetworkParts& parts, const Stack& stack,
                             int threads, bool accumulates, bool coarse);

}  // namespace shardscope
