#pragma once

#include <functional>
#include <string>

#include "engine/base/error.h"
#include "engine/comm/communicator.h"
#include "engine/plan/plan.h"
#include "engine/runtime/executor.h"

namespace shardscope {

// Why a step's loss is not a number, where its update has been left out, so that parameters and inputs still are those
// of the step: it is done again, and every result looked at. Collective; the same on every rank:
//   step 141 (Dense_0/einsum): loss is nan in training step 12: the first result that is not finite is that of
//   'Dense_0/einsum' (forward), on rank 3
//   loss is nan in training step 12: 'params/Dense_0/kernel' is not finite since the update of step 11
// `begin_microbatch` makes the inputs again (see RunHooks), `what` is how the sentence begins. Code not_finite.
Failure explain_non_finite_loss(const Plan& plan, Executor& executor, Communicator& world, const StepContext& context,
                                const std::function<void(int)>& begin_microbatch, const std::string& what);

}  // namespace shardscope
