#pragma once

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "engine/base/align.h"
#include "engine/base/error.h"
#include "engine/compile/document_of.h"
#include "engine/compile/training_graph.h"
#include "engine/graph/op_definition.h"
#include "engine/plan/memory_plan.h"
#include "engine/plan/plan.h"

namespace shardscope::test {

// Reads a plan as a device would execute it, and recounts what it claims from shapes and layouts alone. Every check
// throws Failure where the plan is wrong.
class PlanCheck {
 public:
  explicit PlanCheck(const Plan& plan) : plan_(plan), program_(plan.program), graph_(*plan.graph), mesh_(plan.mesh) {}

  void everything() const {
    verify(program_, graph_, mesh_);
    for (const ArenaLayout& arena : plan_.arenas) verify_memory(arena);
    for (const Task& task : program_.tasks) {
      for (const Instruction& instruction : task.instructions) {
        if (instruction.kind() == InstructionKind::compute) compute_instruction(instruction);
        else if (is_collective(instruction.kind()) || instruction.as<Slice>()) moving_step(instruction);
      }
    }
    // Of stages tests/laws/stage_memory.h reads the arenas.
    if (program_.stages > 1) return;
    pinned_values();
    initialisation();
    arena();
    totals();
  }

  // Every factor of an op is split alike on all operands and results, by axes that nothing else of the op uses; what is
  // summed over split factors is partial.
  void compute_instruction(const Instruction& instruction) const {
    const FactorRule& rule = graph_.rule(instruction.op);
    std::vector<AxisList> axes(rule.factors.size());
    std::vector<bool> seen(rule.factors.size());
    const uint8_t partial =
        instruction.operands().empty() ? 0 : program_.values[instruction.operands()[0]].sharding.partial;
    auto collect = [&](const std::vector<std::vector<DimensionFactors>>& maps, std::span<const int> values) {
      require(maps.size() == values.size(), instruction, "another number of operands or results than its rule");
      for (size_t i = 0; i < maps.size(); ++i) {
        const Sharding& sharding = program_.values[values[i]].sharding;
        for (size_t d = 0; d < maps[i].size(); ++d) {
          const std::vector<AxisList> of_factors = split_among(rule, maps[i][d], sharding.dims[d], instruction);
          for (size_t f = 0; f < of_factors.size(); ++f) {
            const int factor = maps[i][d][f];
            require(!seen[factor] || axes[factor] == of_factors[f], instruction, "a factor is split in two ways");
            axes[factor] = of_factors[f];
            seen[factor] = true;
          }
        }
      }
    };
    collect(rule.operands, instruction.operands());
    collect(rule.results, instruction.results());
    unsigned used = partial;
    for (size_t f = 0; f < axes.size(); ++f) {
      require(rule.factors[f].splittable || axes[f].empty(), instruction, "a factor is split that must be whole");
      for (AxisIndex axis : axes[f]) {
        require(!((used >> axis) & 1), instruction, "an axis is used twice");
        used |= 1u << axis;
      }
    }
    for (int input : instruction.operands()) {
      const Sharding& sharding = program_.values[input].sharding;
      require(sharding.partial == partial, instruction, "operands are partial over different axes");
      require(sharding.reduction == Reduction::sum, instruction, "works on a maximum that is not finished");
    }
    require(partial == 0 || rule.linear, instruction, "partial operands, but the op is not linear");
    for (size_t i = 0; i < instruction.results().size(); ++i) {
      const Sharding& sharding = program_.values[instruction.results()[i]].sharding;
      require(sharding.reduction == (sharding.partial ? rule.reductions[i] : Reduction::sum), instruction,
              "a result's parts make another reduction than the op says");
      unsigned shown = 0;
      for (int d = 0; d < sharding.rank; ++d) {
        for (AxisIndex axis : sharding.dims[d]) shown |= 1u << axis;
      }
      require(sharding.partial == (used & ~shown), instruction, "a result is partial over the wrong axes");
    }
    require(instruction.wire_bytes() == 0, instruction, "local work that sends");
  }

  void moving_step(const Instruction& instruction) const {
    require(instruction.operands().size() == instruction.destinations().size() && !instruction.operands().empty(),
            instruction, "parts do not pair up");
    double p = 1, wire = 0;
    int64_t payload = 0;
    for (AxisIndex axis : instruction.axes()) p *= static_cast<double>(mesh_.axis_size(axis));
    require(!instruction.as<CollectiveStart>() || static_cast<double>(instruction.group_size()) == p, instruction,
            "group size disagrees with the axes");
    for (size_t i = 0; i < instruction.operands().size(); ++i) {
      const ProgramValue& from = program_.values[instruction.operands()[i]];
      const ProgramValue& to = program_.values[instruction.destinations()[i]];
      require(from.graph_value == to.graph_value, instruction, "a reshard makes another value");
      layout_moves(instruction, i, from.sharding, to.sharding);
      const double in = static_cast<double>(from.bytes()), out = static_cast<double>(to.bytes());
      switch (instruction.kind()) {
        case InstructionKind::all_gather: wire += (p - 1) / p * out, payload += to.bytes(); break;
        case InstructionKind::all_reduce: wire += 2 * (p - 1) / p * in, payload += from.bytes(); break;
        case InstructionKind::reduce_scatter:
        case InstructionKind::all_to_all: wire += (p - 1) / p * in, payload += from.bytes(); break;
        case InstructionKind::collective_permute: wire += in, payload += from.bytes(); break;
        default: break;
      }
    }
    require(std::abs(instruction.wire_bytes() - wire) <= 1e-9 * wire, instruction,
            "wire bytes disagree with the ring formula");
    require(instruction.payload_bytes() == payload, instruction, "payload disagrees with the shapes");
    require(!is_collective(instruction.kind()) || instruction.group_size() > 1, instruction,
            "a collective of one device");
  }

  // States, inputs, outputs, the logits' cotangent and pinned activations are defined where their specs say; a state is
  // updated where it is stored.
  void pinned_values() const {
    const std::map<ValueId, PartitionSpec> specs = resolved_specs();
    for (const ParameterPlan& parameter : plan_.parameters) {
      const std::vector<StateId> states = with_followers(parameter.state);
      std::vector<int> stored{parameter.value};
      stored.insert(stored.end(), parameter.state_values.begin(), parameter.state_values.end());
      require(stored.size() == states.size(), parameter.path.back(), "state is missing");
      for (size_t i = 0; i < stored.size(); ++i) {
        require(stored[i] == stored_value(states[i]), parameter.path.back(), "another state than the graph's");
        const PartitionSpec& spec = specs.at(graph_.states[states[i]].before);
        is_sharded_as(stored[i], spec);
        const ValueId after = graph_.states[states[i]].after;
        if (after != no_id) is_sharded_as(updated(states[i]), spec);
      }
    }
    for (StateId id = 0; id < state_count(); ++id) {
      const ValueId after = graph_.states[id].after;
      require(!graph_.states[id].trainable || (after != no_id) == plan_.trains(), name(id),
              "is not updated by training, or is updated without");
      if (after == no_id) continue;
      require(&buffer(updated(id)) == &buffer(stored_value(id)), name(id), "is not updated in place");
    }
    for (const auto& [name, value] : graph_.inputs) is_sharded_as(only_source(value), specs.at(value));
    for (const auto& [value, spec] : specs) {
      if (graph_.values[value].kind == ValueKind::result) defined_as(value, spec);
    }
    for (const Op& op : graph_.ops) {
      if (op.definition->name() != "cross_entropy_terms_grad") continue;
      defined_as(op.outputs[0], specs.at(graph_.outputs.at("logits")));
    }
    for (const Metric& metric : plan_.metrics) {
      for (int value : metric.values) is_sharded_as(value, {});
    }
    for (const ExpertLayer& layer : plan_.expert_layers) {
      for (int value : layer.chosen) is_sharded_as(value, {});
      for (int value : layer.dropped) is_sharded_as(value, {});
    }
  }

  // Of states, inputs and outputs, and of activations that have one.
  std::map<ValueId, PartitionSpec> resolved_specs() const {
    const SpecTargets arrays = spec_targets(graph_);
    const RunConfig config = document_of(plan_);
    const ResolvedSpecs resolved =
        resolve_run_specs(config.sharding, staged_mesh(config.pipeline, mesh_), arrays.targets);
    std::map<ValueId, PartitionSpec> specs;
    for (size_t i = 0; i < arrays.values.size(); ++i) {
      if (resolved.specs[i].pinned) specs[arrays.values[i]] = resolved.specs[i].spec;
    }
    return specs;
  }

  // In every sequence: nobody reads what somebody else has overwritten; a result overwrites an operand of its own step
  // only where allowed; what a collective reads and writes is left alone from its start until it is done; what is
  // stored between steps, and what is read after them, is there at the end.
  void arena() const {
    for (const Sequence& sequence : program_.sequences) {
      std::vector<bool> valid(program_.values.size());
      if (sequence.purpose != Purpose::initialise) {
        for (int value : stored_values()) valid[value] = true;
        for (int value : plan_.input_values[0]) valid[value] = true;
      }
      const SequenceInstructions steps = program_.instructions(sequence);
      std::multiset<int> held;
      for (int position = 0; position < steps.size(); ++position) {
        if (const CollectiveDone* done = steps[position].as<CollectiveDone>()) {
          finish(steps.task(position).instructions[done->start], valid, held);
        } else {
          run_step(steps[position], plan_.arenas[0].workspace[steps.id(position)], valid, held);
        }
      }
      for (int value : left_by(sequence.purpose)) require(valid[value], plan_.value_name(value), "was overwritten");
    }
  }

  // Initialising makes every state's first value, each once, as it is stored and where it is stored; it needs nothing,
  // sends nothing and makes nothing else.
  void initialisation() const {
    const Sequence* sequence = program_.find(Purpose::initialise);
    require(sequence, "initialise", "there is no such sequence");
    std::vector<int> made(graph_.values.size(), -1);
    for (const Instruction& instruction : program_.instructions(*sequence)) {
      require(instruction.kind() == InstructionKind::compute && instruction.operands().empty(), instruction,
              "a first value that needs something");
      for (int output : instruction.results()) {
        int& first = made[program_.values[output].graph_value];
        require(first < 0, instruction, "a first value is made twice");
        first = output;
      }
    }
    for (StateId id = 0; id < state_count(); ++id) {
      const int first = made[graph_.states[id].initial], stored = stored_value(id);
      require(first >= 0, name(id), "has no first value");
      made[graph_.states[id].initial] = -1;
      require(program_.values[first].sharding == program_.values[stored].sharding, name(id),
              "starts in another layout than it is stored in");
      require(&buffer(first) == &buffer(stored), name(id), "starts in another place than it is stored in");
    }
    require(std::all_of(made.begin(), made.end(), [](int value) { return value < 0; }), "initialise",
            "makes what no state begins with");
  }

  void totals() const {
    double wire = 0, flops = 0, seconds = 0;
    const SequenceInstructions steps = plan_.instructions();
    for (int p = 0; p < steps.size(); ++p) {
      wire += steps[p].wire_bytes(), flops += steps[p].flops(), seconds += plan_.seconds(p);
    }
    const PlanTotals& totals = plan_.totals;
    require(same(totals.wire_bytes_per_device, wire), "totals", "wire bytes are not the steps' sum");
    require(same(totals.flops_per_device, flops), "totals", "flops are not the steps' sum");
    require(same(totals.seconds_per_step, seconds), "totals", "seconds are not the steps' sum");
    require(std::isfinite(seconds) && seconds > 0, "totals", "the predicted time is not a time");
    int64_t most = 0;
    for (int p = 0; p < steps.size(); ++p) {
      int64_t live = 0;
      for (const Buffer& one : plan_.arenas[0].buffers) {
        if (one.first <= p && p <= one.last) live += round_up(one.bytes);
      }
      most = std::max(most, live);
    }
    int64_t categories = 0;
    for (int64_t bytes : totals.memory) categories += bytes;
    require(totals.live_lower_bound == most, "totals", "the live lower bound is not the largest sum of live buffers");
    require(categories == most, "totals", "the categories do not sum to the peak");
    require(totals.memory_total == plan_.arenas[0].bytes && most <= plan_.arenas[0].bytes, "totals",
            "the arena is too small");
  }

 private:
  static void require(bool holds, const std::string& where, const std::string& what) {
    if (!holds) throw Failure(Error{"unsound_plan", what, where, ""});
  }
  void require(bool holds, const Instruction& instruction, const char* what) const {
    if (!holds) require(false, plan_.instruction_name(instruction), what);
  }

  // `held`: what open collectives read and write.
  void run_step(const Instruction& instruction, int workspace, std::vector<bool>& valid,
                std::multiset<int>& held) const {
    for (int input : instruction.operands())
      require(valid[input], instruction, "an operand has been overwritten or never made");
    for (size_t i = 0; i < instruction.destinations().size(); ++i) {
      const Buffer& target = buffer(instruction.destinations()[i]);
      for (int value : held)
        require(!overlap(target, buffer(value)), instruction, "writes to what an open collective reads or writes");
      for (size_t j = 0; j < instruction.operands().size(); ++j) {
        const Buffer& source = buffer(instruction.operands()[j]);
        require(!overlap(target, source) || (&target == &source && may_overwrite(instruction, i, j)), instruction,
                "a result overwrites an operand");
      }
      overwrite(target, valid);
    }
    const Buffer* scratch = workspace >= 0 ? &plan_.arenas[0].buffers[workspace] : nullptr;
    if (scratch) {
      for (int value : instruction.operands())
        require(!overlap(*scratch, buffer(value)), instruction, "workspace is on an operand");
      for (int value : held)
        require(!overlap(*scratch, buffer(value)), instruction, "workspace is on what an open collective uses");
      overwrite(*scratch, valid);
    }
    for (int output : instruction.destinations()) {
      for (int other : instruction.destinations()) {
        require(output == other || !overlap(buffer(output), buffer(other)), instruction, "two results in one place");
      }
      require(buffer(output).bytes == program_.values[output].bytes(), instruction,
              "a buffer has another size than its value");
      require(!scratch || !overlap(*scratch, buffer(output)), instruction, "workspace is on a result");
      valid[output] = !instruction.as<CollectiveStart>();
    }
    if (!instruction.as<CollectiveStart>()) return;
    held.insert(instruction.operands().begin(), instruction.operands().end());
    held.insert(instruction.destinations().begin(), instruction.destinations().end());
  }
  static void finish(const Instruction& start, std::vector<bool>& valid, std::multiset<int>& held) {
    for (int value : start.operands()) held.erase(held.find(value));
    for (int value : start.destinations()) held.erase(held.find(value)), valid[value] = true;
  }
  static bool same(double a, double b) { return std::abs(a - b) <= 1e-9 * std::abs(b); }

  // The axes of a dimension's factors: each axis to the most major factor that is not wholly split.
  std::vector<AxisList> split_among(const FactorRule& rule, const DimensionFactors& dimension, const AxisList& axes,
                                    const Instruction& instruction) const {
    std::vector<AxisList> result(dimension.size());
    size_t f = 0;
    int64_t parts = 1;
    for (AxisIndex axis : axes) {
      while (f + 1 < dimension.size() && parts == rule.factors[dimension[f]].size) ++f, parts = 1;
      require(f < dimension.size(), instruction, "a dimension without factors is split");
      parts *= mesh_.axis_size(axis);
      require(rule.factors[dimension[f]].size % parts == 0, instruction, "an axis is across two factors");
      result[f].push_back(axis);
    }
    return result;
  }

  StateId state_count() const { return static_cast<StateId>(graph_.states.size()); }
  const std::string& name(StateId state) const { return graph_.name(graph_.states[state]); }

  // A parameter and the states that follow it.
  std::vector<StateId> with_followers(StateId parameter) const {
    std::vector<StateId> found{parameter};
    for (StateId id = 0; id < state_count(); ++id) {
      if (graph_.states[id].follows == parameter) found.push_back(id);
    }
    return found;
  }

  // The program value that stores a state.
  int stored_value(StateId state) const {
    int found = -1;
    for (size_t v = 0; v < program_.values.size(); ++v) {
      const ProgramValue& value = program_.values[v];
      if (value.graph_value != graph_.states[state].before || !is_source(value, graph_)) continue;
      require(found < 0, name(state), "is stored twice");
      found = static_cast<int>(v);
    }
    require(found >= 0, name(state), "is not stored");
    return found;
  }
  std::vector<int> stored_values() const {
    std::vector<int> values;
    for (StateId id = 0; id < state_count(); ++id) values.push_back(stored_value(id));
    return values;
  }

  // What must be in the arena when a sequence is over.
  std::vector<int> left_by(Purpose purpose) const {
    std::vector<int> left;
    if (purpose == Purpose::initialise) {
      for (const State& state : graph_.states) left.push_back(last_version(state.initial));
      return left;
    }
    left = plan_.input_values[0];
    for (const Metric& metric : plan_.metrics) {
      left.insert(left.end(), metric.values.begin(), metric.values.end());
    }
    for (const ExpertLayer& layer : plan_.expert_layers) {
      left.insert(left.end(), layer.chosen.begin(), layer.chosen.end());
      left.insert(left.end(), layer.dropped.begin(), layer.dropped.end());
    }
    for (StateId id = 0; id < state_count(); ++id) {
      const bool is_updated = purpose == Purpose::train_step && graph_.states[id].after != no_id;
      left.push_back(is_updated ? updated(id) : stored_value(id));
    }
    return left;
  }

  // What part i of the step does to a layout.
  void layout_moves(const Instruction& instruction, size_t i, const Sharding& from, const Sharding& to) const {
    Sharding expected = from;
    unsigned group = 0;
    for (AxisIndex axis : instruction.axes()) group |= 1u << axis;
    auto join = [&](int dim) {
      for (int a = instruction.axes().count; a-- > 0;) {
        AxisList& list = expected.dims[dim];
        require(!list.empty() && list.back() == instruction.axes().axes[a], instruction,
                "gathers axes that are not the minor ones");
        list.pop_back();
      }
    };
    auto split = [&](int dim) {
      for (AxisIndex axis : instruction.axes()) expected.dims[dim].push_back(axis);
    };
    switch (instruction.kind()) {
      case InstructionKind::compute:
      case InstructionKind::send:
      case InstructionKind::receive:
      case InstructionKind::collective_done: return;
      case InstructionKind::slice:
        require((from.used_axes() & group) == 0, instruction, "slices along an axis in use");
        for (int d = 0; d < to.rank; ++d)
          require(to.dims[d].starts_with(from.dims[d]), instruction, "a slice that joins");
        require(to.partial == from.partial && to.used_axes() == (from.used_axes() | group), instruction,
                "slices other axes");
        return;
      case InstructionKind::all_gather: join(instruction.moved()[i].concat_dim); break;
      case InstructionKind::all_reduce:
      case InstructionKind::reduce_scatter:
        require((from.partial & group) == group, instruction, "reduces over axes that are not partial");
        require(from.reduction == instruction.as<CollectiveStart>()->reduction, instruction,
                "reduces otherwise than its operand's parts combine");
        expected.partial &= static_cast<uint8_t>(~group);
        if (expected.partial == 0) expected.reduction = Reduction::sum;
        if (instruction.kind() == InstructionKind::reduce_scatter) split(instruction.moved()[i].split_dim);
        break;
      case InstructionKind::all_to_all:
        join(instruction.moved()[i].concat_dim);
        split(instruction.moved()[i].split_dim);
        break;
      case InstructionKind::collective_permute:
        for (int d = 0; d < to.rank; ++d) {
          require(shard_count(from, mesh_, d) == shard_count(to, mesh_, d), instruction,
                  "permutes shards of two sizes");
        }
        require(from.partial == to.partial, instruction, "a permute that sums");
        require(instruction.operands().size() == 1, instruction, "two permutes in one, which may go two ways");
        return;
    }
    require(expected == to, instruction, "gives another layout than it claims");
  }

  void is_sharded_as(int id, const PartitionSpec& spec) const {
    const ProgramValue& value = program_.values[id];
    auto require = [&](bool holds, const char* what) {
      if (!holds) PlanCheck::require(false, plan_.value_name(id), what);
    };
    const Sharding wanted = to_sharding(spec, mesh_, static_cast<int>(value.shape.size()));
    require(value.sharding.partial == 0, "is partial where it is pinned");
    for (int device = 0; device < mesh_.device_count(); ++device) {
      require(shard_box(value.sharding, mesh_, value.shape, device) == shard_box(wanted, mesh_, value.shape, device),
              "does not lie where its spec says");
    }
  }

  // The op's own layout becomes the pinned one before anything computes with it.
  void defined_as(ValueId value, const PartitionSpec& spec) const {
    std::map<int, bool> pinned;
    for (const Instruction& instruction : plan_.instructions()) {
      for (int output : instruction.destinations()) {
        if (program_.values[output].graph_value != value) continue;
        try {
          is_sharded_as(output, spec);
          pinned[output] = true;
        } catch (const Failure&) {
          pinned[output] = instruction.kind() != InstructionKind::compute && pinned[instruction.operands()[0]];
        }
      }
      if (instruction.kind() != InstructionKind::compute) continue;
      for (int input : instruction.operands()) {
        require(program_.values[input].graph_value != value || pinned[input], instruction,
                "uses a pinned value in a layout made before the pinned one");
      }
    }
    require(std::any_of(pinned.begin(), pinned.end(), [](const auto& entry) { return entry.second; }),
            graph_.values[value].name, "is never as it is pinned");
  }

  int only_source(ValueId input) const {
    for (int value : plan_.input_values[0]) {
      if (program_.values[value].graph_value == input) return value;
    }
    throw Failure(Error{"plan", "an input is not stored", graph_.values[input].name, ""});
  }

  // A state's new value as it is stored: other layouts come before it.
  int updated(StateId id) const { return last_version(graph_.states[id].after); }

  int last_version(ValueId value) const {
    int found = -1;
    for (size_t v = 0; v < program_.values.size(); ++v) {
      if (program_.values[v].graph_value == value) found = static_cast<int>(v);
    }
    require(found >= 0, graph_.values[value].name, "is never made");
    return found;
  }

  const Buffer& buffer(int value) const { return plan_.buffer(value); }
  static bool overlap(const Buffer& a, const Buffer& b) {
    return a.offset < b.offset + b.bytes && b.offset < a.offset + a.bytes;
  }
  bool may_overwrite(const Instruction& instruction, size_t result, size_t operand) const {
    if (instruction.kind() == InstructionKind::all_reduce) return result == operand;
    return instruction.kind() == InstructionKind::compute && graph_.ops[instruction.op].definition->in_place_operand(
                                                                 static_cast<int>(result)) == static_cast<int>(operand);
  }
  void overwrite(const Buffer& target, std::vector<bool>& valid) const {
    for (size_t v = 0; v < valid.size(); ++v) {
      if (valid[v] && overlap(buffer(static_cast<int>(v)), target)) valid[v] = false;
    }
  }

  const Plan& plan_;
  const Program& program_;
  const Graph& graph_;
  const Mesh& mesh_;
};

// "" where the plan is sound, else what is wrong.
inline std::string fault_of(const Plan& plan) {
  try {
    PlanCheck(plan).everything();
  } catch (const Failure& failure) {
    return failure.what();
  }
  return "";
}

}  // namespace shardscope::test
