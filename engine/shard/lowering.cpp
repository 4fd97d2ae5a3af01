#include "engine/shard/lowering.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "engine/mesh/reshard.h"

namespace shardscope {

namespace {

StepKind step_kind(ReshardKind kind) {
  switch (kind) {
    case ReshardKind::slice: return StepKind::slice;
    case ReshardKind::all_gather: return StepKind::all_gather;
    case ReshardKind::all_reduce: return StepKind::all_reduce;
    case ReshardKind::reduce_scatter: return StepKind::reduce_scatter;
    case ReshardKind::all_to_all: return StepKind::all_to_all;
    case ReshardKind::collective_permute: return StepKind::collective_permute;
  }
  return StepKind::slice;
}

// Steps that wait for others of their kind: stage i of every array's path runs before stage i + 1 of any. A stage is
// some slices and the collective after them.
using StagedSteps = std::vector<std::vector<Step>>;

// Where a program value is made: the stages that it is part of (none: the main sequence) and how many precede its use.
struct Making {
  const StagedSteps* staged = nullptr;
  size_t stages = 0;
};

class Lowering {
 public:
  Lowering(const LayoutProblem& problem, const LayoutChoice& choices)
      : problem_(problem),
        graph_(problem.graph),
        mesh_(problem.mesh),
        choices_(choices),
        bucketed_(bucketed_values(problem.graph, problem.bucket_bytes)),
        costs_(problem.mesh) {
    lowered_.defined.assign(graph_.values.size(), -1);
    lowered_.versions.resize(graph_.values.size());
  }

  Lowered run() {
    for (size_t v = 0; v < graph_.values.size(); ++v) {
      if (graph_.values[v].kind != ValueKind::result) define(static_cast<ValueId>(v), *problem_.pins[v], "");
    }
    schedule_updates();
    for (OpId op = 0; op < static_cast<OpId>(graph_.ops.size()); ++op) {
      if (graph_.ops[op].phase == Phase::update) continue;
      lower_op(op, main_);
      for (OpId update : updates_after_[op]) lower_update(update);
    }
    for (const auto& [name, value] : graph_.outputs) {
      if (graph_.type(value).shape.empty()) {
        version(value, Sharding::replicated(0), graph_.values[value].producer, &epilogue_);
      }
    }
    std::vector<Step>& steps = lowered_.program.steps;
    append_staged(prologue_, steps);
    steps.insert(steps.end(), main_.begin(), main_.end());
    append_staged(epilogue_, steps);
    steps.insert(steps.end(), late_updates_.begin(), late_updates_.end());
    return std::move(lowered_);
  }

 private:
  int define(ValueId value, const Sharding& sharding, const std::string& suffix) {
    const Value& info = graph_.values[value];
    ProgramValue made{info.name + suffix,
                      value,
                      info.type.dtype,
                      info.type.shape,
                      sharding,
                      local_shape(sharding, mesh_, info.type.shape),
                      -1};
    int id = static_cast<int>(lowered_.program.values.size());
    lowered_.program.values.push_back(std::move(made));
    making_.emplace_back();
    lowered_.versions[value].push_back(id);
    lowered_.defined[value] = id;
    return id;
  }

  // The first op after which nothing reads the old parameter and the gradient exists.
  void schedule_updates() {
    updates_after_.resize(graph_.ops.size());
    std::vector<OpId> last_use(graph_.values.size(), no_id);
    for (OpId op = 0; op < static_cast<OpId>(graph_.ops.size()); ++op) {
      if (graph_.ops[op].phase == Phase::update) continue;
      for (ValueId input : graph_.ops[op].inputs) last_use[input] = op;
    }
    for (OpId op = 0; op < static_cast<OpId>(graph_.ops.size()); ++op) {
      if (graph_.ops[op].phase != Phase::update) continue;
      OpId ready = 0;
      for (ValueId input : graph_.ops[op].inputs) {
        ready = std::max({ready, last_use[input], graph_.values[input].producer});
      }
      updates_after_[ready].push_back(op);
    }
  }

  void lower_update(OpId op) {
    bool late = false;
    for (ValueId input : graph_.ops[op].inputs) late |= bucketed_[input];
    if (late) {
      lower_op(op, late_updates_, &epilogue_);
    } else {
      lower_op(op, main_);
    }
  }

  void lower_op(OpId id, std::vector<Step>& steps, StagedSteps* staged = nullptr) {
    const Op& op = graph_.ops[id];
    const FactorRule& rule = problem_.rules[id];
    const Placement& placement = choices_[id].placement;
    Step step;
    step.name = op.name;
    step.phase = op.phase;
    step.op = id;
    for (size_t i = 0; i < op.inputs.size(); ++i) {
      bool gather_first = graph_.values[op.inputs[i]].kind == ValueKind::parameter && bucketed_[op.inputs[i]];
      StagedSteps* where = staged ? staged : gather_first ? &prologue_ : nullptr;
      step.inputs.push_back(version(op.inputs[i], operand_sharding(rule, placement, static_cast<int>(i)), id, where));
    }
    for (size_t i = 0; i < op.outputs.size(); ++i) {
      step.outputs.push_back(define(op.outputs[i], result_sharding(rule, placement, static_cast<int>(i)), ""));
    }
    cost_operands(step, op);
    steps.push_back(std::move(step));
    for (ValueId output : op.outputs) pin(output, id);
  }

  // What the user (or propagation) wants where the value is defined replaces what the op gave.
  void pin(ValueId value, OpId op) {
    if (!problem_.pins[value] || lowered_.program.values[lowered_.defined[value]].sharding == *problem_.pins[value])
      return;
    int pinned = version(value, *problem_.pins[value], op, nullptr);
    lowered_.versions[value] = {pinned};
    lowered_.defined[value] = pinned;
  }

  void cost_operands(Step& step, const Op& op) const {
    std::vector<TensorType> operands, results;
    auto localise = [&](const std::vector<int>& ids, std::vector<TensorType>& types) {
      for (int id : ids) {
        const ProgramValue& value = lowered_.program.values[id];
        types.push_back({value.local_shape, value.dtype});
        step.bytes_touched += static_cast<double>(value.bytes());
      }
    };
    localise(step.inputs, operands);
    localise(step.outputs, results);
    step.flops = op.definition->flops(op.attributes, operands, results);
  }

  // The program value of `value` that lies as `target`, made now if it does not exist.
  int version(ValueId value, const Sharding& target, OpId user, StagedSteps* staged) {
    std::vector<int> candidates, layouts;
    for (int candidate : lowered_.versions[value]) {
      if (making_[candidate].staged == &epilogue_ && staged != &epilogue_) continue;  // made after this
      candidates.push_back(candidate);
      layouts.push_back(costs_.layout_id(lowered_.program.values[candidate].sharding));
    }
    const int type = costs_.type_id(graph_.type(value));
    const int source = candidates[costs_.cheapest_source(type, layouts, costs_.layout_id(target)).position];
    if (lowered_.program.values[source].sharding == target) return source;
    return reshard(value, source, target, user, staged);
  }

  int reshard(ValueId value, int source, const Sharding& target, OpId user, StagedSteps* staged) {
    int defined = lowered_.defined[value];
    const Sharding from = lowered_.program.values[source].sharding;
    std::string cause = fmt::format("{} uses {} as {}; it is defined as {}", graph_.ops[user].name,
                                    graph_.values[value].name, to_string(target, mesh_), to_string(from, mesh_));
    Sharding current = from;
    size_t stage = staged && making_[source].staged == staged ? making_[source].stages : 0;
    for (const ReshardStep& part : reshard_path(from, target, mesh_)) {
      int made = define(value, part.result, " " + to_string(part.result, mesh_));
      Step step;
      step.kind = step_kind(part.kind);
      step.phase = staged == &prologue_   ? Phase::forward
                   : staged == &epilogue_ ? Phase::update
                                          : graph_.ops[user].phase;
      step.op = user;
      step.inputs = {source};
      step.outputs = {made};
      step.axes.assign(part.axes.begin(), part.axes.end());
      step.group_size = group_size(part.axes, mesh_);
      step.split_dims = {part.split_dim};
      step.concat_dims = {part.concat_dim};
      double payload = 0;
      step.wire_bytes = wire_bytes(part, current, mesh_, graph_.type(value), &payload);
      step.payload_bytes = static_cast<int64_t>(payload);
      int64_t read = lowered_.program.values[part.kind == ReshardKind::slice ? made : source].bytes();
      step.bytes_touched = static_cast<double>(read + lowered_.program.values[made].bytes());
      step.cause = cause;
      step.name = describe(step);
      if (staged) {
        if (staged->size() <= stage) staged->resize(stage + 1);
        (*staged)[stage].push_back(std::move(step));
      } else {
        main_.push_back(std::move(step));
      }
      source = made;
      current = part.result;
      if (part.kind != ReshardKind::slice) ++stage;
      making_[made] = {staged, stage};
    }
    lowered_.defined[value] = defined;
    return source;
  }

  std::string describe(const Step& step) const {
    std::string axes;
    for (AxisIndex axis : step.axes) axes += (axes.empty() ? "" : ",") + mesh_.axes()[axis].name;
    const std::string& first = graph_.values[lowered_.program.values[step.inputs[0]].graph_value].name;
    std::string what = step.inputs.size() == 1 ? first : fmt::format("{} arrays", step.inputs.size());
    return fmt::format("{} over {} of {}", name(step.kind), axes, what);
  }

  // Merges the collectives of a stage that share kind and axes into one. Permutes go where their layouts say, each its
  // own way.
  void append_staged(const StagedSteps& staged, std::vector<Step>& steps) const {
    for (const std::vector<Step>& stage : staged) {
      std::copy_if(stage.begin(), stage.end(), std::back_inserter(steps),
                   [](const Step& step) { return !is_collective(step.kind); });
      std::vector<Step> merged;
      for (const Step& step : stage) {
        if (!is_collective(step.kind)) continue;
        auto same = std::find_if(merged.begin(), merged.end(), [&](const Step& other) {
          return other.kind == step.kind && other.axes == step.axes && step.kind != StepKind::collective_permute;
        });
        if (same == merged.end()) {
          merged.push_back(step);
          continue;
        }
        same->inputs.push_back(step.inputs[0]);
        same->outputs.push_back(step.outputs[0]);
        same->split_dims.push_back(step.split_dims[0]);
        same->concat_dims.push_back(step.concat_dims[0]);
        same->wire_bytes += step.wire_bytes;
        same->payload_bytes += step.payload_bytes;
        same->bytes_touched += step.bytes_touched;
        same->cause += "\n" + step.cause;
        same->name = describe(*same);
      }
      std::move(merged.begin(), merged.end(), std::back_inserter(steps));
    }
  }

  const LayoutProblem& problem_;
  const Graph& graph_;
  const Mesh& mesh_;
  const LayoutChoice& choices_;
  std::vector<bool> bucketed_;
  LayoutCosts costs_;
  Lowered lowered_;
  std::vector<Making> making_;  // per program value
  std::vector<std::vector<OpId>> updates_after_;
  StagedSteps prologue_, epilogue_;
  std::vector<Step> main_, late_updates_;
};

}  // namespace

Lowered lower(const LayoutProblem& problem, const LayoutChoice& choices) { return Lowering(problem, choices).run(); }

}  // namespace shardscope
