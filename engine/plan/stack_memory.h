#pragma once

#include "engine/plan/plan.h"

namespace shardscope {

// Says in the totals of a plan and of its stages what their devices hold at their peak, as the plan's software stack
// holds what the plan does. A GPT layer then holds what Korthikanti et al. 2022 say ("Reducing Activation Recomputation
// in Large Transformer Models").
//
//   - what an op makes in place is an array of its own, from then on
//   - activations in the type of its products (StackTypes); of an array and its cast to the same type there only one;
//     parts of one weight are the weight
//   - a message is sent from the array itself
//   - where attention's scores are arrays, their softmax is kept for backward, 2 bytes each
//   - where backward gathers again, the parts are kept, and what forward gathered is let go after its last use there
//   - where chains are fused, backward makes the results of elementwise ops again, from operands that are held anyway,
//     where no product reads them
//   - copies of the logits, of attention's queries and of gradients, as the stack says
//   - its allocator takes a share of all that, and it and libraries some bytes
//
// All other arrays and their lives are the plan's.
void hold_as_stack(Plan& plan);

// The arrays that add up to that on a stage, and which values each has: in use from `first` to `last`, folded. One
// without a value that is persistent is the copies of gradients. Offsets and workspace are not set; `bytes` is what a
// device holds at its peak, with the allocator.
ArenaLayout arrays_of_stack(const Plan& plan, int stage);

// The same of a program of one stage whose buffers are in `arena`, before the allocator and without the copies of
// gradients; these take so many bytes of each program value. No array is held longer than where the program is a stage
// with several microbatches in flight.
ArenaLayout arrays_of_stack(const Program& program, const Graph& graph, const Stack& stack, const ArenaLayout& arena);
std::vector<double> gradient_copies(const Program& program, const Graph& graph, const StackMemory& stack,
                                    int stage = 0);

}  // namespace shardscope
