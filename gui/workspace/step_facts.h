#pragma once

#include <QString>
#include <optional>
#include <vector>

#include "engine/plan/plan.h"
#include "gui/document/step_ref.h"

namespace shardscope {

// The steps of a plan in program order, and the position of each in it.
std::vector<StepRef> steps_of(const Plan& plan);
std::vector<StepRef> collectives_of(const Plan& plan);
StepRef step_at(int position);
int position_of(StepRef step);
// Null where the plan has no such step.
const Step* find_step(const Plan& plan, std::optional<StepRef> step);

// The name of an op or a step without the collection "params".
QString short_name(const std::string& name);

// "data, model": the names of a step's mesh axes.
QString axes_text(const Mesh& mesh, const std::vector<AxisIndex>& axes);

// The first of the causes of a bucket of arrays, one a line, and how many more there are; a single cause as it is.
QString short_cause(const QString& cause);

}  // namespace shardscope
