#pragma once

#include "engine/plan/plan.h"

namespace shardscope {

// Bytes that a device of a stage holds at its peak, by category, as the plan's software stack holds what the plan does:
//
//   - activations in the type of its products (StackTypes); of an array and its cast to the same type there only one
//   - a message is sent from the array itself
//   - where attention's scores are arrays, their softmax is kept for backward, 2 bytes each
//   - where chains are fused, backward makes the results of elementwise ops again, from operands that are held anyway,
//     where no product reads them
//   - copies of the logits and of gradients, as the stack says
//
// All other arrays and their lives are the plan's.
CategoryBytes held_by_stack(const Plan& plan, const ArenaLayout& arena, int stage);

}  // namespace shardscope
