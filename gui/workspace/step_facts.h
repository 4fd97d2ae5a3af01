#pragma once

#include <QString>
#include <optional>
#include <vector>

#include "engine/plan/plan.h"
#include "gui/document/selection.h"
#include "gui/document/step_ref.h"

namespace shardscope {

// The steps of the main sequence of a plan's stage, by position and back. What a person reads of a step
// (Plan::instruction_name, Plan::cause) is made when it is shown: a deep model has tens of thousands of steps.
StepRef step_at(const Plan& plan, int position, int stage = 0);
// Nothing where no stage's main sequence has such a step, or `stage` is another one.
std::optional<int> position_of(const Plan& plan, std::optional<StepRef> step, std::optional<int> stage = {});
const Instruction* find_step(const Plan& plan, std::optional<StepRef> step);  // null likewise
int stage_of(const Plan& plan, StepRef step);                                 // of one that the plan has

// The stage that is looked at: that of the selected device, else the first.
int shown_stage(const Plan& plan, const Selection& selection);

// The name of an op or a step without the collection "params".
QString short_name(const std::string& name);

// "data, model": the names of a step's mesh axes.
QString axes_text(const Mesh& mesh, const AxisList& axes);
// "data 3, model 0": where a device is.
QString coordinates_text(const Mesh& mesh, int device);

// The first of the causes of a bucket of arrays, one a line, and how many more there are; a single cause as it is.
QString short_cause(const QString& cause);

}  // namespace shardscope
