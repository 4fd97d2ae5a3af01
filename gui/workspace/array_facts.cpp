#include "gui/workspace/array_facts.h"

#include <algorithm>
#include <map>
#include <set>

#include "gui/document/edits.h"
#include "gui/document/faults.h"
#include "gui/document/text.h"

namespace shardscope {
namespace {

template <class Key>
const ValueLayout* find_layout(const Plan& plan, const std::unordered_map<Key, int>& index, const Key& key) {
  const auto found = index.find(key);
  return found == index.end() ? nullptr : &plan.layouts[found->second];
}

// A parameter and what the optimizer keeps of it: their values before and after a step, and its gradient.
void add_graph_values(ArrayFacts& facts, const Plan& plan, const ParameterPlan& planned) {
  std::vector<int> stored{planned.value};
  stored.insert(stored.end(), planned.state_values.begin(), planned.state_values.end());
  for (const int value : stored) {
    const ValueId before = plan.program.values[value].graph_value;
    const State& state = plan.graph->states[plan.graph->values[before].state];
    for (const ValueId own : {state.before, state.after, state.gradient})
      if (own != no_id) facts.graph_values.push_back(own);
  }
}

void add_layout(ArrayFacts& facts, const Plan& plan, const ValueLayout& layout) {
  facts.shape = layout.shape;
  if (plan.graph && layout.value != no_id) facts.dtype = plan.graph->type(layout.value).dtype;
  facts.sharding = layout.sharding;
  facts.why = qt(layout.origin.text);
  if (layout.value != no_id) facts.graph_values = {layout.value};
}

// What the forward pass reads first: the tokens, not the labels. no_id where it reads nothing.
ValueId first_input(const Graph& graph) {
  for (const Op& op : graph.ops) {
    for (ValueId input : op.inputs) {
      if (graph.values[input].kind == ValueKind::input) return input;
    }
  }
  return graph.inputs.empty() ? no_id : graph.inputs.begin()->second;
}

// The output that is an array, not a metric.
ValueId first_output(const Graph& graph) {
  for (const auto& [name, value] : graph.outputs) {
    if (!graph.type(value).shape.empty()) return value;
  }
  return no_id;
}

// Adds what is known of each kind of array; false where the model has no such array.
struct Adder {
  const Workspace& workspace;
  const ParameterSpecs& specs;
  std::shared_ptr<const Plan> plan;
  ArrayFacts& facts;

  bool operator()(std::monostate) { return false; }

  bool operator()(const ParameterRef& parameter) {
    facts.kind = QObject::tr("parameter");
    const ParameterSpec* named = specs.find(parameter.path);
    facts.named = named;
    const ParameterPlan* planned = workspace.planner.find_planned(parameter.path);
    if (named || planned) facts.spec = named ? named->spec : planned->spec;
    facts.why = named ? QObject::tr("you set it in the run file")
                : planned && planned->named
                    ? qt(planned->origin.text)
                    : QObject::tr("the run file does not name it, so every device holds all of it");
    return add_parameter(parameter.path);
  }

  bool operator()(const StateRef& state) {
    facts.kind = QObject::tr("optimizer state %1").arg(qt(state.state));
    facts.why = QObject::tr("as its parameter: state is sharded as the parameter");
    if (!add_parameter(state.path)) return false;
    const ParameterPlan* planned = workspace.planner.find_planned(state.path);
    if (!planned) return true;
    const auto kept = std::ranges::find(planned->state_names, state.state) - planned->state_names.begin();
    if (kept == std::ssize(planned->state_names)) return true;
    const Sharding& own = plan->program.values[planned->state_values[kept]].sharding;
    if (own != planned->sharding) facts.why = QObject::tr("the run file gives it a layout of its own");
    facts.sharding = own;
    return true;
  }

  bool operator()(InputRef) { return add_end(plan && plan->graph ? first_input(*plan->graph) : no_id); }
  bool operator()(OutputRef) { return add_end(plan && plan->graph ? first_output(*plan->graph) : no_id); }

  bool operator()(const ValueRef& value) {
    const ValueLayout* found = plan ? find_layout(*plan, workspace.planner.index().layout_named, value.name) : nullptr;
    if (!found) return false;
    facts.kind = QObject::tr("forward value");
    add_layout(facts, *plan, *found);
    return true;
  }

  bool add_parameter(const std::vector<std::string>& path) {
    const ParameterInfo* known = workspace.planner.find_parameter(path);
    if (!known) return false;
    facts.shape = known->type.shape;
    facts.dtype = known->type.dtype;
    if (const ParameterPlan* planned = workspace.planner.find_planned(path)) {
      facts.dtype = planned->dtype;
      facts.sharding = planned->sharding;
      add_graph_values(facts, *plan, *planned);
    }
    return true;
  }

  bool add_end(ValueId end) {
    facts.kind = facts.title;
    facts.named = true;
    facts.spec = spec_of(workspace.document.config(), facts.array);
    facts.shape = Shape(std::max<size_t>(facts.spec.dims.size(), 1));
    if (end == no_id) return true;
    if (const ValueLayout* layout = find_layout(*plan, workspace.planner.index().layout_of, end)) {
      add_layout(facts, *plan, *layout);
      const bool by_rule = facts.spec.dims.empty() && layout->origin.kind == Origin::Kind::user;
      if (by_rule && workspace.planner.is_current()) facts.spec = to_spec(layout->sharding, plan->mesh);
    }
    return true;
  }
};

}  // namespace

std::optional<ArrayFacts> array_facts(const Workspace& workspace, const ArrayRef& array) {
  return array_facts(workspace, ParameterSpecs(workspace.document.config().sharding), array);
}

std::optional<ArrayFacts> array_facts(const Workspace& workspace, const ParameterSpecs& specs, const ArrayRef& array) {
  ArrayFacts facts;
  facts.array = array;
  facts.title = title_of(array);
  facts.editable = has_spec(array);
  const bool exists = std::visit(Adder{workspace, specs, workspace.planner.plan(), facts}, array);
  const auto& stages_of = workspace.planner.index().stages_of;
  if (const ValueId own = facts.graph_values.empty() ? no_id : facts.graph_values.front(); stages_of.contains(own))
    facts.stages = stages_of.at(own);
  return exists ? std::optional(std::move(facts)) : std::nullopt;
}

const ValueLayout* layout_of(const Planner& planner, ValueId value) {
  return planner.plan() && value != no_id ? find_layout(*planner.plan(), planner.index().layout_of, value) : nullptr;
}

int64_t copies_of(const ArrayFacts& facts, const Plan& plan) {
  int64_t copies = plan.mesh.device_count();
  for (int dim = 0; dim < facts.sharding->rank; ++dim) copies /= shard_count(*facts.sharding, plan.mesh, dim);
  return facts.stages.empty() ? copies : copies / plan.program.stages * std::ssize(facts.stages);
}

bool is_held_by(const ArrayFacts& facts, int stage) {
  return facts.stages.empty() || std::ranges::count(facts.stages, stage) > 0;
}

QString stages_text(const std::vector<int>& stages) {
  QStringList numbers;
  for (const int stage : stages) numbers << QString::number(stage);
  return numbers.join(", ");
}

std::optional<ArrayRef> find_array(const Planner& planner, const QString& name) {
  std::vector<ArrayRef> arrays{InputRef{}, OutputRef{}};
  for (const ParameterInfo& info : planner.parameters()) arrays.push_back(ParameterRef{info.path});
  if (const std::shared_ptr<const Plan> plan = planner.plan()) {
    for (const ParameterPlan& parameter : plan->parameters)
      for (const std::string& state : parameter.state_names) arrays.push_back(StateRef{state, parameter.path});
    for (const ValueLayout& layout : plan->layouts) arrays.push_back(ValueRef{layout.name});
  }
  // Values come last: an embedding and the op that looks it up have the same short name.
  const auto found = std::ranges::find_if(
      arrays, [&](const ArrayRef& array) { return name_of(array) == name || title_of(array) == name; });
  return found == arrays.end() ? std::nullopt : std::optional(*found);
}

std::vector<ParameterRef> parameters_at(const Planner& planner, const QString& place) {
  std::vector<ParameterRef> found;
  if (!planner.plan() || !place.startsWith("sharding.")) return found;
  for (const ParameterPlan& parameter : planner.plan()->parameters)
    if (place == qt(parameter.place) || is_at(place, place_of(ParameterRef{parameter.path})))
      found.push_back({parameter.path});
  return found;
}

void select_first_array(Workspace& workspace) {
  const auto& parameters = workspace.planner.parameters();
  if (parameters.empty() || array_facts(workspace, workspace.selection.array())) return;
  workspace.selection.select_array(ParameterRef{parameters.front().path});
}

std::vector<StepRef> collectives_of(const Planner& planner, const ArrayFacts& facts) {
  std::set<StepRef> steps;
  for (const ValueId value : facts.graph_values)
    if (const auto found = planner.index().moved_by.find(value); found != planner.index().moved_by.end())
      for (const int number : found->second) steps.insert(planner.index().collectives[number]);
  return {steps.begin(), steps.end()};
}

double wire_share(const Plan& plan, const Instruction& instruction, const ArrayFacts& facts) {
  const auto concerns = [&](int value) {
    return std::ranges::find(facts.graph_values, plan.program.values[value].graph_value) != facts.graph_values.end();
  };
  double own = 0, all = 0;
  for (size_t i = 0; i < instruction.operands().size(); ++i) {
    const auto bytes = static_cast<double>(plan.program.values[instruction.operands()[i]].bytes());
    all += bytes;
    if (concerns(instruction.operands()[i]) ||
        (i < instruction.destinations().size() && concerns(instruction.destinations()[i])))
      own += bytes;
  }
  return all > 0 ? instruction.wire_bytes() * own / all : instruction.wire_bytes();
}

}  // namespace shardscope
