#include "engine/shard/lowering.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <map>

#include "engine/mesh/reshard.h"
#include "engine/shard/staged_steps.h"

namespace shardscope {

namespace {

enum class Section : uint8_t { opening, main, closing, before_op };

// Where a program value is made. In a staged section `stages` collectives (and what is cut before them) precede its
// use.
struct Making {
  int task = -1;  // -1: a source
  Section section = Section::main;
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
    lowered_.program.values.reserve(graph_.values.size() + graph_.values.size() / 2);
    making_.reserve(graph_.values.size() + graph_.values.size() / 2);
    lowered_.versions.resize(graph_.values.size());
    updates_of_.resize(graph_.values.size());
  }

  Lowered run() {
    for (size_t v = 0; v < graph_.values.size(); ++v) {
      if (graph_.values[v].kind != ValueKind::result) define(static_cast<ValueId>(v), *problem_.pins[v]);
    }
    std::map<Phase, std::vector<OpId>> phases;
    for (OpId op = 0; op < static_cast<OpId>(graph_.ops.size()); ++op) {
      phases[task_phase(graph_.ops[op].phase)].push_back(op);
      if (graph_.ops[op].phase == Phase::update) list_uses(op);
    }
    for (const auto& [phase, ops] : phases) {
      lower_task(phase, ops);
      const bool ends_microbatch = phase == (phases.contains(Phase::backward) ? Phase::backward : Phase::forward);
      if (microbatched() && ends_microbatch) lower_metrics();
    }
    name_ends();
    list_groups();
    list_sequences();
    return std::move(lowered_);
  }

 private:
  struct Use {
    OpId op;
    int operand;
  };

  bool microbatched() const { return problem_.microbatches > 1; }

  void list_uses(OpId op) {
    const std::vector<ValueId>& inputs = graph_.ops[op].inputs;
    for (size_t i = 0; i < inputs.size(); ++i) updates_of_[inputs[i]].push_back({op, static_cast<int>(i)});
  }

  void lower_task(Phase phase, const std::vector<OpId>& ops) {
    task_ = static_cast<int>(lowered_.program.tasks.size());
    phase_ = phase;
    main_.reserve(ops.size() + ops.size() / 2);
    for (OpId op : ops) {
      lower_op(op);
      if (phase == Phase::backward && !microbatched()) lay_for_update(op);
    }
    before_op_.append_to(main_);
    if (phase == Phase::forward && !microbatched()) finish_scalars();
    append_task(std::string(name(phase)));
  }

  // What adds up over the microbatches is whole once all have run.
  void lower_metrics() {
    metrics_task_ = task_ = static_cast<int>(lowered_.program.tasks.size());
    phase_ = Phase::forward;
    finish_scalars();
    append_task("metrics");
  }

  void append_task(std::string name) {
    std::vector<Step> opening;
    opening_.append_to(opening);
    main_.insert(main_.begin(), std::make_move_iterator(opening.begin()), std::make_move_iterator(opening.end()));
    closing_.append_to(main_);
    lowered_.program.tasks.push_back({std::move(name), phase_, std::move(main_), {}, {}});
    main_.clear();
  }

  int define(ValueId value, const Sharding& sharding) {
    int id = add_value(value, sharding, false);
    lowered_.defined[value] = id;
    return id;
  }

  int add_value(ValueId value, const Sharding& sharding, bool moved) {
    const TensorType& type = graph_.type(value);
    int id = static_cast<int>(lowered_.program.values.size());
    lowered_.program.values.push_back(
        {value, moved, type.dtype, type.shape, sharding, local_shape(sharding, mesh_, type.shape)});
    making_.push_back({task_, Section::main, 0});
    lowered_.versions[value].push_back(id);
    return id;
  }

  void lower_op(OpId id) {
    const Op& op = graph_.ops[id];
    const FactorRule& rule = graph_.rule(id);
    const Placement& placement = choices_[id].placement;
    std::vector<int> inputs, outputs;
    inputs.reserve(op.inputs.size());
    outputs.reserve(op.outputs.size());
    for (size_t i = 0; i < op.inputs.size(); ++i) {
      inputs.push_back(version(op.inputs[i], operand_sharding(rule, placement, static_cast<int>(i)), id));
    }
    before_op_.append_to(main_);
    for (size_t i = 0; i < op.outputs.size(); ++i) {
      outputs.push_back(define(op.outputs[i], result_sharding(rule, placement, static_cast<int>(i))));
    }
    main_.push_back(compute_step(id, std::move(inputs), std::move(outputs)));
    for (ValueId output : op.outputs) pin(output, id);
  }

  Step compute_step(OpId id, std::vector<int> inputs, std::vector<int> outputs) {
    const Op& op = graph_.ops[id];
    Step step;
    step.phase = op.phase;
    step.op = id;
    const std::vector<ProgramValue>& values = lowered_.program.values;
    local_types(values, inputs, operands_);
    local_types(values, outputs, results_);
    for (const std::vector<int>* ids : {&inputs, &outputs}) {
      for (int value : *ids) step.bytes_touched += static_cast<double>(values[value].bytes());
    }
    step.flops = op.definition->flops(op.attributes, operands_, results_);
    step.inputs = std::move(inputs);
    step.outputs = std::move(outputs);
    return step;
  }

  // What the user (or propagation) wants where the value is defined replaces what the op gave.
  void pin(ValueId value, OpId op) {
    const std::optional<Sharding>& wanted = problem_.pins[value];
    if (!wanted || lowered_.program.values[lowered_.defined[value]].sharding == *wanted) return;
    int pinned = reshard(value, lowered_.defined[value], *wanted, op, Section::main);
    lowered_.versions[value] = {pinned};
    lowered_.defined[value] = pinned;
  }

  void lay_for_update(OpId op) {
    for (ValueId output : graph_.ops[op].outputs) {
      if (bucketed_[output]) continue;
      for (const Use& use : updates_of_[output]) {
        Sharding wanted = operand_sharding(graph_.rule(use.op), choices_[use.op].placement, use.operand);
        const ProgramValue& made = lowered_.program.values[lowered_.defined[output]];
        if (shard_count(wanted, mesh_) >= shard_count(made.sharding, mesh_)) version(output, wanted, use.op);
      }
    }
  }

  void finish_scalars() {
    for (const auto& [name, value] : graph_.outputs) {
      if (!graph_.type(value).shape.empty()) continue;
      OpId producer = graph_.values[value].producer;
      lowered_.outputs[name] =
          reshard(value, lowered_.defined[value], Sharding::replicated(0), producer, Section::closing);
    }
  }

  // The program value of `value` that lies as `target`, made now if it does not exist.
  int version(ValueId value, const Sharding& target, OpId user) {
    candidates_.clear();
    layouts_.clear();
    for (int candidate : lowered_.versions[value]) {
      if (!is_kept(value, candidate)) continue;
      if (lowered_.program.values[candidate].sharding == target) return candidate;
      candidates_.push_back(candidate);
      layouts_.push_back(costs_.layout_id(lowered_.program.values[candidate].sharding));
    }
    const int type = costs_.type_id(graph_.type(value));
    const int source = candidates_[costs_.cheapest_source(type, layouts_, costs_.layout_id(target)).position];
    if (takes_scalars_alone(graph_, user)) return reshard(value, source, target, user, Section::before_op);
    bool with_others = bucketed_[value] && making_[lowered_.defined[value]].task != task_;
    return reshard(value, source, target, user, with_others ? Section::opening : Section::main);
  }

  // Whether the version, made earlier, is still there in this task.
  bool is_kept(ValueId value, int version) const {
    bool made_here = making_[version].task == task_ || version == lowered_.defined[value];
    return made_here || choices_.regather.empty() || !choices_.regather[value];
  }

  int reshard(ValueId value, int source, const Sharding& target, OpId user, Section section) {
    const int first = source;
    const Sharding from = lowered_.program.values[source].sharding;
    const std::vector<ReshardStep> path = reshard_path(from, target, mesh_);
    const int last = static_cast<int>(lowered_.program.values.size() + path.size()) - 1;
    const bool staged_here = making_[source].task == task_ && making_[source].section == section;
    size_t stage = staged_here ? making_[source].stages : 0;
    for (const ReshardStep& part : path) {
      int made = add_value(value, part.result, true);
      Step step = reshard_step(part, source, made, {user, first, last});
      if (section == Section::main) {
        main_.push_back(std::move(step));
      } else {
        staged(section).add(stage, std::move(step));
      }
      if (part.kind != StepKind::slice) ++stage;
      making_[made] = {task_, section, stage};
      source = made;
    }
    return source;
  }

  StagedSteps& staged(Section section) {
    if (section == Section::before_op) return before_op_;
    return section == Section::opening ? opening_ : closing_;
  }

  Step reshard_step(const ReshardStep& part, int source, int made, const Cause& cause) const {
    const ProgramValue &from = lowered_.program.values[source], &to = lowered_.program.values[made];
    Step step;
    step.kind = part.kind;
    step.phase = phase_;
    step.op = cause.user;
    step.inputs = {source};
    step.outputs = {made};
    step.axes = part.axes;
    step.group_size = group_size(part.axes, mesh_);
    step.moved = {{part.split_dim, part.concat_dim, cause}};
    step.reduction = part.reduction;
    step.dtype = from.dtype;
    double payload = 0;
    step.wire_bytes = wire_bytes(part, from.sharding, mesh_, graph_.type(from.graph_value), &payload);
    step.payload_bytes = static_cast<int64_t>(payload);
    int64_t read = part.kind == StepKind::slice ? to.bytes() : from.bytes();
    step.bytes_touched = static_cast<double>(read + to.bytes());
    return step;
  }

  // Inputs and outputs of the tasks. Scalar outputs and the new values of what is stored stay when all is done.
  void name_ends() {
    Program& program = lowered_.program;
    std::vector<int> maker(program.values.size(), -1);
    std::vector<bool> wanted(program.values.size());
    for (int t = 0; t < static_cast<int>(program.tasks.size()); ++t) {
      Task& task = program.tasks[t];
      for (const Step& step : task.steps) {
        for (int output : step.outputs) maker[output] = t;
      }
      for (const Step& step : task.steps) {
        for (int input : step.inputs) {
          if (maker[input] == t) continue;
          wanted[input] = true;
          task.inputs.push_back(input);
        }
      }
      std::ranges::sort(task.inputs);
      task.inputs.erase(std::unique(task.inputs.begin(), task.inputs.end()), task.inputs.end());
    }
    for (const auto& [name, value] : lowered_.outputs) wanted[value] = true;
    for (const State& state : graph_.states) {
      wanted[lowered_.defined[state.initial]] = true;
      if (state.after != no_id) wanted[lowered_.defined[state.after]] = true;
    }
    for (int v = 0; v < static_cast<int>(maker.size()); ++v) {
      if (wanted[v] && maker[v] >= 0) program.tasks[maker[v]].outputs.push_back(v);
    }
  }

  void list_groups() {
    for (const Task& task : lowered_.program.tasks) {
      for (const Step& step : task.steps) {
        std::vector<AxisList>& groups = lowered_.program.groups;
        bool listed = !is_collective(step.kind) || std::ranges::find(groups, step.axes) != groups.end();
        if (!listed) groups.push_back(step.axes);
      }
    }
  }

  void list_sequences() {
    Program& program = lowered_.program;
    const auto runs_of = [&](std::initializer_list<Phase> repeated, std::initializer_list<Phase> once) {
      std::vector<TaskRun> runs;
      const auto add = [&](std::initializer_list<Phase> phases, int microbatch) {
        for (int t = 0; t < static_cast<int>(program.tasks.size()); ++t) {
          const bool wanted = std::ranges::find(phases, program.tasks[t].phase) != phases.end();
          if (wanted && t != metrics_task_) runs.push_back({t, microbatch});
        }
      };
      for (int microbatch = 0; microbatch < problem_.microbatches; ++microbatch) add(repeated, microbatch);
      if (metrics_task_ >= 0 && repeated.size() > 0) runs.push_back({metrics_task_, 0});
      add(once, 0);
      return runs;
    };
    const auto add = [&](Purpose purpose, std::vector<TaskRun> runs) {
      program.sequences.push_back(make_sequence(purpose, std::move(runs), program.tasks));
    };
    add(Purpose::initialise, runs_of({}, {Phase::initialise}));
    const bool trains = std::ranges::any_of(
        program.tasks, [](const Task& task) { return task.phase == Phase::backward || task.phase == Phase::update; });
    if (trains) add(Purpose::train_step, runs_of({Phase::forward, Phase::backward}, {Phase::update}));
    add(Purpose::evaluate, runs_of({Phase::forward}, {}));
  }

  const LayoutProblem& problem_;
  const Graph& graph_;
  const Mesh& mesh_;
  const LayoutChoice& choices_;
  std::vector<bool> bucketed_;
  LayoutCosts costs_;
  Lowered lowered_;
  std::vector<Making> making_;                // per program value
  std::vector<std::vector<Use>> updates_of_;  // per graph value: the update's operands
  int metrics_task_ = -1;                     // where there are several microbatches
  // Of the task that is being lowered:
  int task_ = -1;
  Phase phase_ = Phase::forward;
  StagedSteps opening_, closing_, before_op_;
  std::vector<Step> main_;
  std::vector<TensorType> operands_, results_;  // of the step at hand, on one device
  std::vector<int> candidates_, layouts_;       // versions of the value at hand
};

}  // namespace

Lowered lower(const LayoutProblem& problem, const LayoutChoice& choices) { return Lowering(problem, choices).run(); }

}  // namespace shardscope
