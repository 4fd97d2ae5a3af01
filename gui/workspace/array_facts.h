#pragma once

#include <QString>
#include <optional>
#include <vector>

#include "engine/config/parameter_specs.h"
#include "gui/workspace/step_facts.h"
#include "gui/workspace/workspace.h"

namespace shardscope {

// What is known of an array, joined from the config, which is newest, and the last good plan.
struct ArrayFacts {
  ArrayRef array;
  QString title;  // "Embed_0/embedding"
  QString kind;   // "parameter", "optimizer state", "model input", "model output", "forward value"
  Shape shape;
  DType dtype = DType::f32;
  bool editable = false;              // has a spec of its own in the run file
  bool named = false;                 // and the file names it
  PartitionSpec spec;                 // of editable ones, as the config says it
  std::optional<Sharding> sharding;   // in the plan
  QString why;                        // where the layout came from
  std::vector<int> stages;            // of a pipeline, whose devices alone hold it; empty: all devices
  std::vector<ValueId> graph_values;  // it and what belongs to it: gradient, state, updated value

  bool operator==(const ArrayFacts&) const = default;
};

// Nothing for no array, and for one that the model does not have.
std::optional<ArrayFacts> array_facts(const Workspace& workspace, const ArrayRef& array);
// For many arrays; `specs` are the document's.
std::optional<ArrayFacts> array_facts(const Workspace& workspace, const ParameterSpecs& specs, const ArrayRef& array);

// Where the forward value is laid out; null for one that is not of the forward pass.
const ValueLayout* layout_of(const Planner& planner, ValueId value);
// How many devices hold each shard, of an array that is in the plan.
int64_t copies_of(const ArrayFacts& facts, const Plan& plan);
bool is_held_by(const ArrayFacts& facts, int stage);
QString stages_text(const std::vector<int>& stages);  // "0, 2"

// The array of the model that goes by a name (see name_of), or by its title.
std::optional<ArrayRef> find_array(const Planner& planner, const QString& name);

// Parameters whose spec is at a place of the run file, or is decided by what is there: a pattern or a rule.
std::vector<ParameterRef> parameters_at(const Planner& planner, const QString& place);

// Selects the model's first parameter where no array of it is selected.
void select_first_array(Workspace& workspace);

// Steps of the plan that communicate one of the array's values, in program order.
std::vector<StepRef> collectives_of(const Planner& planner, const ArrayFacts& facts);

// What of the bytes that a device sends in `step` is for the array: its share of a bucket of several arrays.
double wire_share(const Plan& plan, const Instruction& instruction, const ArrayFacts& facts);

}  // namespace shardscope
