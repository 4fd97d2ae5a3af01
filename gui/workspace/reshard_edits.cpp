#include "gui/workspace/reshard_edits.h"

#include <algorithm>
#include <iterator>
#include <set>

#include "engine/base/name_pattern.h"
#include "engine/base/path.h"
#include "engine/compile/document_of.h"
#include "engine/config/parameter_specs.h"
#include "engine/plan/deciding_pins.h"
#include "gui/document/array_ref.h"
#include "gui/document/faults.h"
#include "gui/document/spec_text.h"
#include "gui/document/text.h"
#include "gui/workspace/line_edits.h"

namespace shardscope {
namespace {

constexpr size_t most_candidates = 1000;  // a bound, beyond what files of hundreds of lines have

const Instruction& step_of(const Plan& plan, StepRef id) {
  return plan.program.tasks[static_cast<size_t>(id.task)].instructions[static_cast<size_t>(id.index)];
}

// What can be given a spec: an array of the forward pass.
struct Target {
  enum class Kind : uint8_t { parameter, activation, input, output } kind = Kind::activation;
  ValueId value = no_id;
  bool operator==(const Target&) const = default;
};

std::optional<Target> target_of(const Plan& plan, ValueId value) {
  const Graph& graph = *plan.graph;
  for (int hops = 0; value != no_id && hops < 3; ++hops) {
    const Value& it = graph.values[value];
    if (it.kind == ValueKind::input) return Target{Target::Kind::input, value};
    if (it.kind == ValueKind::state) {
      if (graph.states[it.state].is_parameter()) return Target{Target::Kind::parameter, value};
      return std::nullopt;
    }
    if (it.producer != no_id && graph.ops[it.producer].phase == Phase::forward) {
      const auto is_it = [&](const auto& output) { return output.second == value; };
      const bool is_output = std::ranges::any_of(graph.outputs, is_it);
      if (it.type.shape.empty()) return std::nullopt;
      return Target{is_output ? Target::Kind::output : Target::Kind::activation, value};
    }
    value = it.again_of != no_id ? it.again_of : it.cotangent_of;
  }
  return std::nullopt;
}

// In the order in which they are likely.
std::vector<Target> targets_of(const Plan& plan, const Instruction& instruction) {
  std::vector<Target> targets;
  const auto add = [&](ValueId value) {
    const std::optional<Target> target = target_of(plan, value);
    if (target && std::ranges::count(targets, *target) == 0) targets.push_back(*target);
  };
  if (instruction.moved().empty()) return targets;
  const auto& [user, from, to] = instruction.moved().front().cause;
  if (user == no_id || from < 0) return targets;
  const ValueId moved = plan.program.values[static_cast<size_t>(from)].graph_value;
  add(moved);
  const Graph& graph = *plan.graph;
  for (const ValueId value : graph.ops[user].outputs) add(value);
  for (const ValueId value : graph.ops[user].inputs) add(value);
  const OpId maker = graph.values[moved].producer;
  if (maker != no_id)
    for (const ValueId value : graph.ops[maker].inputs) add(value);
  const std::vector<std::string> pins = deciding_pins(plan, instruction);
  if (pins.empty()) return targets;
  for (const ParameterPlan& parameter : plan.parameters) {
    const ValueId value = graph.states[parameter.state].before;
    if (parameter.place.empty() && std::ranges::count(pins, plan.pins[static_cast<size_t>(value)]) > 0) add(value);
  }
  return targets;
}

// How the array is sharded now, by itself.
std::optional<Sharding> layout_of(const Plan& plan, const Target& target) {
  for (const ParameterPlan& parameter : plan.parameters)
    if (plan.graph->states[parameter.state].before == target.value) return parameter.sharding;
  for (const ValueLayout& layout : plan.layouts)
    if (layout.value == target.value) return layout.sharding;
  return std::nullopt;
}

Sharding without_partial(Sharding sharding) {
  sharding.partial = 0;
  return sharding;
}

// "blocks/*/linear1/add": what names of one length have in common; empty where they differ in the number of scopes.
std::string common_pattern(const std::vector<std::string>& names) {
  std::vector<std::vector<std::string>> scopes;
  for (const std::string& name : names) {
    std::vector<std::string>& own = scopes.emplace_back();
    for (size_t begin = 0; begin <= name.size();) {
      const size_t end = std::min(name.find('/', begin), name.size());
      own.push_back(name.substr(begin, end - begin));
      begin = end + 1;
    }
    if (own.size() != scopes.front().size()) return {};
  }
  std::string pattern;
  for (size_t s = 0; s < scopes.front().size(); ++s) {
    std::string scope = scopes.front()[s];
    for (const std::vector<std::string>& own : scopes) {
      if (own[s] == scopes.front()[s]) continue;
      size_t same = 0;
      while (same < scope.size() && same < own[s].size() && scope[same] == own[s][same] && scope[same] != '*') ++same;
      scope = scope.substr(0, same) + "*";
    }
    pattern += (s ? "/" : "") + scope;
  }
  return pattern;
}

// Where the run file gives alike targets their spec.
struct Spot {
  Target::Kind kind = Target::Kind::activation;
  std::vector<std::string> names;
  std::vector<std::vector<std::string>> paths;  // of parameters
  std::optional<size_t> line;                   // of sharding.parameters, that speaks of just these
  bool is_pattern = false;                      // one constraint for all: it speaks of no other activation
  std::string title;                            // what they have in common
  std::vector<std::string> places;              // in the run file
};

bool matches_just(const Plan& plan, const std::string& pattern, size_t count) {
  NamePatterns patterns;
  patterns.add(pattern, 0);
  size_t matched = 0;
  for (const ValueLayout& layout : plan.layouts) {
    std::vector<int> ids;
    patterns.match(layout.name, ids);
    matched += !ids.empty();
  }
  return matched == count;
}

std::optional<size_t> line_of(const Plan& plan, const ShardingConfig& sharding,
                              const std::vector<std::vector<std::string>>& paths) {
  const ParameterSpecs specs(sharding);
  const ParameterSpec* line = specs.find(paths.front());
  if (!line) return std::nullopt;
  const auto is_on_it = [&](const auto& path) { return specs.find(path) == line; };
  const auto matched = std::ranges::count_if(plan.parameters, is_on_it, &ParameterPlan::path);
  if (matched != std::ssize(paths) || !std::ranges::all_of(paths, is_on_it)) return std::nullopt;
  return static_cast<size_t>(line - sharding.parameters.data());
}

Spot spot_of(const Plan& plan, const ShardingConfig& sharding, const std::vector<Target>& targets) {
  Spot spot;
  spot.kind = targets.front().kind;
  if (spot.kind == Target::Kind::input) spot.names = {"in"};
  if (spot.kind == Target::Kind::output) spot.names = {"out"};
  for (const Target& target : targets) {
    const Value& value = plan.graph->values[target.value];
    if (spot.kind == Target::Kind::activation) spot.names.push_back(value.name);
    if (spot.kind != Target::Kind::parameter) continue;
    spot.paths.push_back(plan.graph->states[value.state].path);
    spot.names.push_back(join_path(spot.paths.back()));
  }
  if (spot.kind == Target::Kind::input || spot.kind == Target::Kind::output)
    spot.places = {"sharding." + spot.names.front()};
  const std::string common = common_pattern(spot.names);
  spot.title = common.empty() ? spot.names.front() : common;
  if (spot.kind == Target::Kind::parameter) spot.line = line_of(plan, sharding, spot.paths);
  if (spot.kind == Target::Kind::activation)
    spot.is_pattern = spot.names.size() > 1 && !common.empty() && matches_just(plan, common, spot.names.size());
  if (spot.line) spot.places = {parameter_place(sharding.parameters[*spot.line])};
  else
    for (const std::vector<std::string>& path : spot.paths) spot.places.push_back(parameter_place({path, {}}));
  if (spot.kind != Target::Kind::activation) return spot;
  if (spot.is_pattern) spot.places = {constraint_place({spot.title, {}})};
  else
    for (const std::string& name : spot.names) spot.places.push_back(constraint_place({name, {}}));
  return spot;
}

void constrain(ShardingConfig& sharding, const Spot& spot, const PartitionSpec& spec) {
  const auto set = [&](const std::string& name, bool first) {
    const auto found = std::ranges::find(sharding.constraints, name, &Constraint::names);
    if (found != sharding.constraints.end()) found->spec = spec;
    else sharding.constraints.insert(first ? sharding.constraints.begin() : sharding.constraints.end(), {name, spec});
  };
  if (spot.is_pattern) return set(spot.title, true);
  for (const std::string& name : spot.names) set(name, false);
}

SpecEdit edit_of(const RunConfig& config, const Spot& spot, const PartitionSpec& spec) {
  SpecEdit edit{qt(spot.title) + " = " + spec_text(spec), spot.places, config};
  ShardingConfig& sharding = edit.config.sharding;
  switch (spot.kind) {
    case Target::Kind::input: sharding.in = spec; break;
    case Target::Kind::output: sharding.out = spec; break;
    case Target::Kind::parameter:
      if (spot.line) sharding.parameters[*spot.line].spec = spec;
      else
        for (const std::vector<std::string>& path : spot.paths) set_parameter_spec(sharding, path, spec);
      break;
    case Target::Kind::activation: constrain(sharding, spot, spec);
  }
  return edit;
}

// Edits, each once and each another file than the plan's.
class EditList {
 public:
  explicit EditList(const ShardingConfig& own) : own_(own) {}

  void add(SpecEdit edit) {
    const ShardingConfig& sharding = edit.config.sharding;
    const auto is_same = [&](const SpecEdit& other) { return other.config.sharding == sharding; };
    if (edits_.size() == most_candidates || sharding == own_ || std::ranges::any_of(edits_, is_same)) return;
    edits_.push_back(std::move(edit));
  }
  void add(std::vector<SpecEdit> edits) {
    for (SpecEdit& edit : edits) add(std::move(edit));
  }
  std::vector<SpecEdit> take() { return std::move(edits_); }

 private:
  const ShardingConfig& own_;
  std::vector<SpecEdit> edits_;
};

void add_array_edits(const Plan& plan, const RunConfig& config, std::span<const StepRef> steps, EditList& edits) {
  std::vector<std::vector<Target>> by_step;
  for (const StepRef id : steps) by_step.push_back(targets_of(plan, step_of(plan, id)));
  const MovedArray& moved = step_of(plan, steps.front()).moved().front();
  const std::vector<Target>& first = by_step.front();
  for (size_t t = 0; t < first.size(); ++t) {
    std::vector<Target> alike;
    const Shape& shape = plan.graph->type(first[t].value).shape;
    for (const std::vector<Target>& targets : by_step)
      if (t < targets.size() && targets[t].kind == first[t].kind && plan.graph->type(targets[t].value).shape == shape &&
          std::ranges::count(alike, targets[t]) == 0)
        alike.push_back(targets[t]);
    const std::optional<Sharding> now = layout_of(plan, first[t]);
    if (!now) continue;
    std::vector<PartitionSpec> likely;
    for (const int layout : {moved.cause.to, moved.cause.from}) {
      const ProgramValue& value = plan.program.values[static_cast<size_t>(layout)];
      if (target_of(plan, value.graph_value) == first[t])
        likely.push_back(to_spec(without_partial(value.sharding), plan.mesh));
    }
    const Spot spot = spot_of(plan, config.sharding, alike);
    for (const PartitionSpec& spec : other_specs(plan, shape, to_spec(without_partial(*now), plan.mesh), likely))
      edits.add(edit_of(config, spot, spec));
  }
}

void add_line_edits(const Plan& plan, const RunConfig& config, std::span<const StepRef> steps, EditList& edits) {
  std::vector<std::string> pins;
  for (const StepRef id : steps) std::ranges::copy(deciding_pins(plan, step_of(plan, id)), std::back_inserter(pins));
  std::vector<SpecLine> lines = spec_lines(config.sharding);
  std::ranges::stable_partition(lines, [&](SpecLine line) {
    return std::ranges::any_of(pins,
                               [&](const std::string& place) { return is_on_line(config.sharding, place, line); });
  });
  if (std::ranges::count(pins, "sharding.out") > 0) edits.add(output_edits(plan, config));
  if (std::ranges::count(pins, "sharding.in") > 0) edits.add(input_edits(plan, config));
  if (std::ranges::count(pins, zero_place) > 0) edits.add(zero_edits(config));
  for (const SpecLine line : lines) edits.add(line_edits(plan, config, line));
  edits.add(output_edits(plan, config));
  edits.add(input_edits(plan, config));
  edits.add(zero_edits(config));
}

}  // namespace

std::vector<SpecEdit> candidate_edits(const Plan& plan, std::span<const StepRef> steps) {
  if (steps.empty() || !plan.graph || step_of(plan, steps.front()).moved().empty()) return {};
  const RunConfig config = document_of(plan);
  EditList edits(config.sharding);
  add_array_edits(plan, config, steps, edits);
  add_line_edits(plan, config, steps, edits);
  return edits.take();
}

bool still_moves(const Plan& plan, const Plan& before, std::span<const StepRef> steps) {
  std::set<std::pair<std::string, std::string>> looked_for;
  const auto key = [](const Plan& of, const MovedArray& array) {
    const ValueId value = of.program.values[static_cast<size_t>(array.cause.from)].graph_value;
    return std::pair(of.graph->ops[array.cause.user].name, of.graph->values[value].name);
  };
  for (const StepRef id : steps) {
    const MovedArray& array = step_of(before, id).moved().front();
    if (array.cause.user != no_id) looked_for.insert(key(before, array));
  }
  for (const Task& task : plan.program.tasks)
    for (const Instruction& instruction : task.instructions)
      for (const MovedArray& array : instruction.moved())
        if (is_communication(instruction.kind()) && array.cause.user != no_id && looked_for.contains(key(plan, array)))
          return true;
  return false;
}

EditSearch find_edit(const PlanSource& source, const Plan& plan, std::span<const StepRef> steps,
                     const std::stop_token& stop, EditProgress& progress) {
  EditSearch search;
  std::vector<SpecEdit> edits = candidate_edits(plan, steps);
  search.candidates = static_cast<int>(edits.size());
  progress.candidates = search.candidates;
  for (SpecEdit& edit : edits) {
    if (stop.stop_requested()) break;
    try {
      const Plan other = source.plan(edit.config, stop);
      if (memory_excess(other).empty() && !still_moves(other, plan, steps))
        search.removing.push_back({std::move(edit), other.totals});
    } catch (const Cancelled&) {
      break;
    } catch (const std::exception&) {
      // What cannot be planned is no way out.
    }
    ++progress.planned;
  }
  std::ranges::stable_sort(search.removing, {}, [](const EditSearch::Found& found) {
    return std::pair(found.totals.seconds_per_step, found.totals.device_bytes);
  });
  return search;
}

}  // namespace shardscope
