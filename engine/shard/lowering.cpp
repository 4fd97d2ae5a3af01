#include "engine/shard/lowering.h"

#include <algorithm>
#include <map>

#include "engine/base/error.h"
#include "engine/graph/casts.h"
#include "engine/graph/counted_rows.h"
#include "engine/graph/reported_values.h"
#include "engine/mesh/reshard.h"
#include "engine/shard/moving_instructions.h"
#include "engine/shard/open_tasks.h"
#include "engine/shard/reshard_section.h"
#include "engine/shard/task_ends.h"

namespace shardscope {

namespace {

class Lowering {
 public:
  Lowering(const LayoutProblem& problem, const LayoutChoice& choices)
      : problem_(problem),
        graph_(problem.graph),
        mesh_(problem.mesh),
        choices_(choices),
        bucketed_(bucketed_values(problem.graph, problem.bucket_bytes)),
        rows_(counted_rows(problem.graph)),
        of_states_(ops_of_states(problem.graph)),
        begins_(std::ranges::find(of_states_, true) != of_states_.end()),
        costs_(problem.mesh),
        tasks_({problem.staged.shape.stages, problem.staged.shape.chunks, static_cast<int>(problem.microbatches)}) {
    lowered_.defined.assign(graph_.values.size(), -1);
    lowered_.program.values.reserve(graph_.values.size() + graph_.values.size() / 2);
    making_.reserve(graph_.values.size() + graph_.values.size() / 2);
    lowered_.versions.resize(graph_.values.size());
    updates_of_.resize(graph_.values.size());
  }

  Lowered run() {
    lowered_.program.stages = problem_.staged.shape.stages;
    for (size_t v = 0; v < graph_.values.size(); ++v) define_source(static_cast<ValueId>(v));
    std::map<Phase, std::vector<OpId>> phases;
    for (OpId op = 0; op < static_cast<OpId>(graph_.ops.size()); ++op) {
      phases[task_phase(graph_.ops[op].phase)].push_back(op);
      if (graph_.ops[op].phase == Phase::update) list_uses(op);
    }
    for (const auto& [phase, ops] : phases) {
      lower_phase(phase, ops);
      const bool ends_microbatch = phase == (phases.contains(Phase::backward) ? Phase::backward : Phase::forward);
      if (apart_from_update() && ends_microbatch) lower_metrics();
    }
    lowered_.program.tasks = tasks_.close();
    lowered_.program.sequences = tasks_.sequences(lowered_.program.tasks, problem_.staged.order);
    name_ends(lowered_.program, kept_values());
    list_groups(lowered_.program);
    return std::move(lowered_);
  }

 private:
  struct Use {
    OpId op;
    int operand;
  };

  bool pipelined() const { return !problem_.staged.empty(); }
  // Whether forward and backward may run several times before the update.
  bool apart_from_update() const { return problem_.microbatches > 1 || pipelined(); }

  // States are there on the stage that stores them, inputs on any that uses them.
  void define_source(ValueId value) {
    const Value& source = graph_.values[value];
    if (source.kind == ValueKind::result || (pipelined() && source.kind == ValueKind::input)) return;
    if (pipelined()) stage_ = problem_.staged.state_stage[static_cast<size_t>(source.state)];
    define(value, *problem_.pins[value]);
  }

  void list_uses(OpId op) {
    const std::vector<ValueId>& inputs = graph_.ops[op].inputs;
    for (size_t i = 0; i < inputs.size(); ++i) updates_of_[inputs[i]].push_back({op, static_cast<int>(i)});
  }

  // Goes to a task, made if there is none.
  void enter(const TaskKey& key) {
    task_ = tasks_.open(key);
    phase_ = tasks_[task_].phase;
    stage_ = key.stage;
  }
  OpenTasks::OpenTask& task() { return tasks_[task_]; }

  TaskKey key_of(OpId op) const {
    const StagedOps& staged = problem_.staged;
    const Phase phase = task_phase(graph_.ops[op].phase);
    const int stage = pipelined() ? staged.stage(op) : 0, chunk = pipelined() ? staged.chunk(op) : 0;
    switch (phase) {
      case Phase::update: return {TaskPart::update, stage};
      case Phase::initialise: return {TaskPart::initialise, stage};
      case Phase::forward:
        return of_states_[static_cast<size_t>(op)] ? TaskKey{TaskPart::begin, stage}
                                                   : TaskKey{TaskPart::forward, stage, chunk};
      default: break;
    }
    const bool weights = !staged.weight_gradient.empty() && staged.weight_gradient[static_cast<size_t>(op)];
    return {weights ? TaskPart::backward_weight : TaskPart::backward, stage, chunk};
  }

  void lower_phase(Phase phase, const std::vector<OpId>& ops) {
    for (OpId op : ops) {
      if (pipelined() && problem_.staged.virtual_stage[static_cast<size_t>(op)] == StagedOps::unassigned) continue;
      enter(key_of(op));
      task().main.reserve(ops.size() + ops.size() / 2);
      if (pipelined()) {
        // Backward of inputs comes first, and uses them too.
        if (task().key.part == TaskPart::backward_weight) enter({TaskPart::backward, stage_, task().key.chunk});
        bring_operands(op);
        enter(key_of(op));
      }
      lower_op(op);
      if (phase == Phase::backward && !apart_from_update()) lay_for_update(op);
    }
    if (phase == Phase::forward && !apart_from_update()) finish_reported();
  }

  // What adds up over the microbatches is whole once all have run.
  void lower_metrics() {
    if (!pipelined()) {
      enter({TaskPart::metrics});
      return finish_reported();
    }
    for (int stage = 0; stage < problem_.staged.shape.stages; ++stage) {
      enter({TaskPart::metrics, stage});
      finish_reported();
      task().closing.append_to(task().main);
    }
    const auto made = lowered_.reported;  // each the same for all stages
    for (int stage = 0; stage < problem_.staged.shape.stages; ++stage) {
      enter({TaskPart::metrics, stage});
      receive_reported(made);
    }
  }

  int define(ValueId value, const Sharding& sharding) {
    int id = add_value(value, sharding, false);
    if (lowered_.defined[value] < 0) lowered_.defined[value] = id;
    return id;
  }

  int add_value(ValueId value, const Sharding& sharding, bool moved) {
    const TensorType& type = graph_.type(value);
    int id = static_cast<int>(lowered_.program.values.size());
    lowered_.program.values.push_back(
        {value, moved, stage_, type.dtype, type.shape, sharding, local_shape(sharding, mesh_, type.shape)});
    making_.push_back({task_, Section::main, 0, false});
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
    task().before_op.append_to(task().main);
    for (size_t i = 0; i < op.outputs.size(); ++i) {
      outputs.push_back(define(op.outputs[i], result_sharding(rule, placement, static_cast<int>(i))));
    }
    const std::vector<int> made = outputs;
    const int ring = ring_factor(rule, placement);
    task().main.push_back(ring < 0
                              ? compute_instruction(id, std::move(inputs), std::move(outputs))
                              : ring_instruction(op.phase, id, lowered_.program.values, mesh_, inputs[0], outputs[0],
                                                 {placement.factors[ring], rule.factors[ring].ring,
                                                  op.definition->ring_receivers(op.attributes)}));
    for (size_t i = 0; i < op.outputs.size(); ++i) pin(op.outputs[i], made[i], id);
  }

  Instruction compute_instruction(OpId id, std::vector<int> inputs, std::vector<int> outputs) {
    const Op& op = graph_.ops[id];
    const std::vector<ProgramValue>& values = lowered_.program.values;
    local_types(values, inputs, operands_);
    local_types(values, outputs, results_);
    Compute compute;
    for (const std::vector<int>* ids : {&inputs, &outputs}) {
      if (!op.definition->touches_memory()) break;
      for (int value : *ids) compute.bytes_touched += static_cast<double>(values[value].bytes());
    }
    compute.flops = op.definition->flops(op.attributes, operands_, results_);
    compute.operands = std::move(inputs);
    compute.results = std::move(outputs);
    return {op.phase, id, std::move(compute)};
  }

  // What the user (or propagation) wants where the value is defined replaces what the op gave.
  void pin(ValueId value, int made, OpId op) {
    const std::optional<Sharding>& wanted = problem_.pins[value];
    if (!wanted || lowered_.program.values[made].sharding == *wanted) return;
    const int pinned = reshard(value, made, *wanted, op, Section::main);
    std::vector<int>& versions = lowered_.versions[value];
    std::erase_if(versions, [&](int id) { return id >= made && id != pinned; });
    if (lowered_.defined[value] == made) lowered_.defined[value] = pinned;
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

  void finish_reported() {
    for (const auto& [name, value] : reported_values(graph_)) {
      const int defined = lowered_.defined[value];
      if (lowered_.program.values[defined].stage != stage_) continue;
      OpId producer = graph_.values[value].producer;
      const int whole = reshard(value, defined, Sharding::replicated(static_cast<int>(graph_.type(value).shape.size())),
                                producer, Section::closing);
      lowered_.reported[name].assign(static_cast<size_t>(lowered_.program.stages), whole);
    }
  }

  void receive_reported(const std::map<std::string, std::vector<int>>& made) {
    std::map<int, std::vector<int>> there;  // by stage
    for (const auto& [name, wholes] : made) {
      const int stage = lowered_.program.values[wholes.front()].stage;
      if (stage != stage_) there[stage].push_back(wholes.front());
    }
    for (const auto& [stage, wholes] : there) {
      const std::vector<int> here = transfer(wholes, tasks_.open({TaskPart::metrics, stage}), task_);
      for (auto& [name, received] : lowered_.reported) {
        const auto found = std::ranges::find(wholes, made.at(name).front());
        if (found != wholes.end()) received[static_cast<size_t>(stage_)] = here[found - wholes.begin()];
      }
    }
  }

  bool is_here(ValueId value) const {
    return std::ranges::any_of(lowered_.versions[value],
                               [&](int id) { return lowered_.program.values[id].stage == stage_; });
  }

  // Operands that other stages hold: those of one stage come together.
  void bring_operands(OpId op) {
    std::map<int, std::vector<int>> sent;  // by the task that sends
    for (ValueId input : graph_.ops[op].inputs) {
      if (is_here(input)) continue;
      const Value& value = graph_.values[input];
      if (value.kind == ValueKind::input) {
        make_source(input);
      } else if (value.kind == ValueKind::state || is_made_of_states(input)) {
        receive_at_begin(input);
      } else if (problem_.staged.virtual_stage[static_cast<size_t>(value.producer)] == StagedOps::unassigned) {
        lower_op(value.producer);
      } else {
        const int home = lowered_.defined[input];
        std::vector<int>& values = sent[sending_task(home)];
        if (std::ranges::find(values, home) == values.end()) values.push_back(home);
      }
    }
    for (const auto& [from, values] : sent) transfer(values, from, task_);
  }

  void make_source(ValueId input) {
    const int task = std::exchange(task_, -1);
    define(input, *problem_.pins[input]);
    task_ = task;
  }

  // Once a step, for all tasks of this stage.
  void receive_at_begin(ValueId value) {
    const int home = lowered_.defined[value];
    transfer({home}, tasks_.open({TaskPart::begin, lowered_.program.values[home].stage}),
             tasks_.open({TaskPart::begin, stage_}));
  }

  // What adds up over microbatches leaves its stage when all have run, to be used by an update.
  int sending_task(int value) {
    const int made = making_[value].task;
    const TaskKey key = tasks_[made].key;
    if (!is_repeated(key.part) || is_repeated(task().key.part)) return made;
    return tasks_.open({TaskPart::update, key.stage});
  }

  // Values of one stage, sent in one message; as the caller's stage has them.
  std::vector<int> transfer(const std::vector<int>& values, int from, int to) {
    Program& program = lowered_.program;
    const int here = std::exchange(task_, to);
    std::vector<int> received;
    for (int value : values) {
      const ProgramValue home = program.values[value];
      received.push_back(add_value(home.graph_value, home.sharding, true));
      making_[received.back()].received = true;
    }
    task_ = here;
    const int channel = static_cast<int>(program.channels.size());
    auto [send, receive] = transfer_instructions(program.values, graph_, values, received, channel);
    send.phase = tasks_[from].phase;
    receive.phase = tasks_[to].phase;
    program.channels.push_back({tasks_[from].key.stage, tasks_[to].key.stage, send.payload_bytes()});
    tasks_.insert_behind(from, values, std::move(send));
    tasks_[to].main.push_back(std::move(receive));
    return received;
  }

  // The program value of `value` that is laid out as `target`, made now if it does not exist.
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
    const int position = costs_.cheapest_source(type, layouts_, costs_.layout_id(target)).position;
    if (position < 0) {
      throw Failure(Error{"no_layout",
                          "what op '" + graph_.ops[user].name + "' needs cannot be made from how this is laid out",
                          at_name(graph_.values[value].name), ""});
    }
    const int source = candidates_[static_cast<size_t>(position)];
    if (takes_scalars_alone(graph_, user)) return reshard(value, source, target, user, Section::before_op);
    const auto section = [&] {
      return section_of(bucketed_[value], making_[lowered_.defined[value]].task, making_[source], task_);
    };
    if (!is_laid_out_once(value) || !is_repeated(task().key.part))
      return reshard(value, source, target, user, section());
    const int here = task_;
    enter({TaskPart::begin, stage_});
    const bool with_made = begins_ && bucketed_[value];
    const int made = reshard(value, source, target, user, with_made ? Section::closing : section());
    task_ = here;
    phase_ = task().phase;
    return made;
  }

  bool is_made_of_states(ValueId value) const {
    const OpId producer = graph_.values[value].producer;
    return producer != no_id && of_states_[static_cast<size_t>(producer)];
  }

  // In the task `begin`, for all microbatches.
  bool is_laid_out_once(ValueId value) const {
    const bool is_state = graph_.values[value].kind == ValueKind::state;
    const bool of_step = is_state ? pipelined() || begins_ : is_made_of_states(value);
    return of_step && (choices_.reshard_after_forward.empty() || !choices_.reshard_after_forward[value]);
  }

  // Whether the version, made earlier, is still there in this task, on this stage. Nothing waits for backward of
  // weights.
  bool is_kept(ValueId value, int version) {
    const Making& made = making_[version];
    if (lowered_.program.values[version].stage != stage_) return false;
    if (made.task == task_ && made.section == Section::closing) return false;
    if (made.task == task_ || version == lowered_.defined[value] || made.received) return true;
    if (made.task >= 0 && tasks_[made.task].key.part == TaskPart::backward_weight) return false;
    return choices_.reshard_after_forward.empty() || !choices_.reshard_after_forward[value];
  }

  // Of rows of which only the first ones hold something, the counts as they lie before and after the path's all-to-all
  // between blocks; empty where there is none, or more than one.
  std::vector<int> counts_of_rows(ValueId value, const Sharding& from, const std::vector<ReshardStep>& path,
                                  OpId user) {
    const ValueId counts = rows_.empty() ? no_id : rows_[static_cast<size_t>(value)].counts;
    if (counts == no_id || !exchanges_blocks(path)) return {};
    const auto blocks = [](const Sharding& rows) {
      Sharding sharding = Sharding::replicated(3);
      for (int d = 0; d < 2; ++d) sharding.dims[d] = rows.dims[d];
      return sharding;
    };
    const int before = version(counts, blocks(from), user);
    return {before, version(counts, blocks(path[0].result), user)};
  }

  int reshard(ValueId value, int source, const Sharding& target, OpId user, Section section) {
    const int first = source;
    const Sharding from = lowered_.program.values[source].sharding;
    const std::vector<ReshardStep> path = reshard_path(from, target, mesh_);
    const std::vector<int> counts = counts_of_rows(value, from, path, user);
    const int last = static_cast<int>(lowered_.program.values.size() + path.size()) - 1;
    const bool staged_here = making_[source].task == task_ && making_[source].section == section;
    size_t stage = staged_here ? making_[source].stages : 0;
    for (const ReshardStep& part : path) {
      int made = add_value(value, part.result, true);
      Instruction instruction =
          reshard_instruction(part, lowered_.program.values, mesh_, {user, first, last}, source, made);
      instruction.phase = phase_;
      if (part.kind == InstructionKind::all_to_all && !counts.empty()) {
        CollectiveStart& exchange = *instruction.as<CollectiveStart>();
        exchange.operands.insert(exchange.operands.end(), counts.begin(), counts.end());
        exchange.counted = true;
      }
      if (section == Section::main) {
        task().main.push_back(std::move(instruction));
      } else {
        staged(section).add(stage, std::move(instruction));
      }
      if (part.kind != InstructionKind::slice) ++stage;
      making_[made] = {task_, section, stage, false};
      source = made;
    }
    return source;
  }

  StagedInstructions& staged(Section section) {
    if (section == Section::before_op) return task().before_op;
    return section == Section::opening ? task().opening : task().closing;
  }

  // Reported values and the new values of what is stored stay when all is done.
  std::vector<bool> kept_values() const {
    std::vector<bool> kept(lowered_.program.values.size());
    for (const auto& [name, values] : lowered_.reported) {
      for (int value : values) kept[value] = true;
    }
    for (const State& state : graph_.states) {
      kept[lowered_.defined[state.initial]] = true;
      if (state.after != no_id) kept[lowered_.defined[state.after]] = true;
    }
    return kept;
  }

  const LayoutProblem& problem_;
  const Graph& graph_;
  const Mesh& mesh_;
  const LayoutChoice& choices_;
  std::vector<bool> bucketed_;
  std::vector<CountedRows> rows_;  // per value; or empty
  std::vector<bool> of_states_;    // per op: runs once a step, in the task `begin`
  bool begins_;                    // there are such ops
  LayoutCosts costs_;
  Lowered lowered_;
  std::vector<Making> making_;                // per program value
  std::vector<std::vector<Use>> updates_of_;  // per graph value: the update's operands
  OpenTasks tasks_;
  // Of the task that is being lowered:
  int task_ = -1;  // none while sources are defined
  Phase phase_ = Phase::forward;
  int stage_ = 0;
  std::vector<TensorType> operands_, results_;  // of the step at hand, on one device
  std::vector<int> candidates_, layouts_;       // versions of the value at hand
};

}  // namespace

Lowered lower(const LayoutProblem& problem, const LayoutChoice& choices) { return Lowering(problem, choices).run(); }

}  // namespace shardscope
