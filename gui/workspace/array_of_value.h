#pragma once

#include <QString>

#include "gui/workspace/workspace.h"

namespace shardscope {

// The array of the model that a value of the plan's graph belongs to: the parameter or the optimizer state that it is,
// before or after a step; the parameter that it is the gradient of; the forward value that it is, is recomputed of, or
// is the gradient of. Nothing for what else backward or the update make, and where the planner has come to another
// plan.
ArrayRef array_of_value(const Planner& planner, const Plan& plan, ValueId value);

// What a value is called for a person: "Embed_0/embedding", "gradient of Dense_0/kernel", "Block_1/gelu, recomputed".
QString value_text(const Plan& plan, ValueId value);

// "Dense_0/kernel", or of several arrays that go in one "Dense_0/kernel and 4 more".
QString moved_text(const Plan& plan, const Instruction& instruction);
// The first of the arrays that a reshard moves; no_id where the step moves none.
ValueId moved_value(const Plan& plan, const Instruction& instruction);

}  // namespace shardscope
