#pragma once

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "engine/base/align.h"
#include "engine/base/error.h"
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
    verify_memory(plan_.arena);
    for (const Step& step : plan_.steps()) {
      step.kind == StepKind::compute ? compute_step(step) : moving_step(step);
    }
    pinned_values();
    arena();
    totals();
  }

  // Every factor of an op is split alike on all operands and results, by axes that nothing else of the op uses; what is
  // summed over split factors is partial.
  void compute_step(const Step& step) const {
    const Op& op = graph_.ops[step.op];
    const FactorRule rule = rule_of(op);
    std::vector<AxisList> axes(rule.factors.size());
    std::vector<bool> seen(rule.factors.size());
    const uint8_t partial = program_.values[step.inputs[0]].sharding.partial;
    auto collect = [&](const std::vector<std::vector<int>>& maps, const std::vector<int>& values) {
      require(maps.size() == values.size(), step, "another number of operands or results than its rule");
      for (size_t i = 0; i < maps.size(); ++i) {
        const Sharding& sharding = program_.values[values[i]].sharding;
        for (size_t d = 0; d < maps[i].size(); ++d) {
          const int factor = maps[i][d];
          require(!seen[factor] || axes[factor] == sharding.dims[d], step, "a factor is split in two ways");
          axes[factor] = sharding.dims[d];
          seen[factor] = true;
        }
      }
    };
    collect(rule.operands, step.inputs);
    collect(rule.results, step.outputs);
    unsigned used = partial;
    for (size_t f = 0; f < axes.size(); ++f) {
      require(rule.factors[f].splittable || axes[f].empty(), step, "a factor is split that must be whole");
      for (AxisIndex axis : axes[f]) {
        require(!((used >> axis) & 1), step, "an axis is used twice");
        used |= 1u << axis;
      }
    }
    for (int input : step.inputs) {
      require(program_.values[input].sharding.partial == partial, step, "operands are partial over different axes");
    }
    require(partial == 0 || rule.linear, step, "partial operands, but the op is not linear");
    for (int output : step.outputs) {
      const Sharding& sharding = program_.values[output].sharding;
      unsigned shown = 0;
      for (int d = 0; d < sharding.rank; ++d) {
        for (AxisIndex axis : sharding.dims[d]) shown |= 1u << axis;
      }
      require(sharding.partial == (used & ~shown), step, "a result is partial over the wrong axes");
    }
    require(step.wire_bytes == 0, step, "local work that sends");
  }

  void moving_step(const Step& step) const {
    require(step.inputs.size() == step.outputs.size() && !step.inputs.empty(), step, "parts do not pair up");
    double p = 1, wire = 0;
    int64_t payload = 0;
    for (AxisIndex axis : step.axes) p *= static_cast<double>(mesh_.axis_size(axis));
    require(static_cast<double>(step.group_size) == p, step, "group size disagrees with the axes");
    for (size_t i = 0; i < step.inputs.size(); ++i) {
      const ProgramValue& from = program_.values[step.inputs[i]];
      const ProgramValue& to = program_.values[step.outputs[i]];
      require(from.graph_value == to.graph_value, step, "a reshard makes another value");
      layout_moves(step, i, from.sharding, to.sharding);
      const double in = static_cast<double>(from.bytes()), out = static_cast<double>(to.bytes());
      switch (step.kind) {
        case StepKind::all_gather: wire += (p - 1) / p * out, payload += to.bytes(); break;
        case StepKind::all_reduce: wire += 2 * (p - 1) / p * in, payload += from.bytes(); break;
        case StepKind::reduce_scatter:
        case StepKind::all_to_all: wire += (p - 1) / p * in, payload += from.bytes(); break;
        case StepKind::collective_permute: wire += in, payload += from.bytes(); break;
        default: break;
      }
    }
    require(std::abs(step.wire_bytes - wire) <= 1e-9 * wire, step, "wire bytes disagree with the ring formula");
    require(step.payload_bytes == payload, step, "payload disagrees with the shapes");
    require(!is_collective(step.kind) || step.group_size > 1, step, "a collective of one device");
  }

  // Parameters, their state, inputs, logits and the logits' cotangent are defined where their specs say.
  void pinned_values() const {
    for (size_t i = 0; i < plan_.parameters.size(); ++i) {
      const ParameterPlan& parameter = plan_.parameters[i];
      std::vector<int> stored = parameter.state_values;
      stored.push_back(parameter.value);
      require(stored.size() == graph_.parameters[i].state.size() + 1, parameter.path.back(), "state is missing");
      for (int value : stored) lies_as(value, parameter.spec);
      if (!plan_.trains()) continue;
      std::vector<ValueId> updated = graph_.parameters[i].updated_state;
      updated.push_back(graph_.parameters[i].updated);
      for (size_t s = 0; s < stored.size(); ++s) {
        const int result = only_version(updated[s]);
        lies_as(result, parameter.spec);
        require(&buffer(result) == &buffer(stored[s]), plan_.value_name(result), "is not updated in place");
      }
    }
    for (int value : plan_.input_values) lies_as(value, plan_.config.sharding.in);
    const ValueId logits = graph_.outputs.at("logits");
    defined_as(logits, plan_.config.sharding.out);
    for (const Op& op : graph_.ops) {
      if (op.definition->name() == "cross_entropy_grad") defined_as(op.outputs[0], plan_.config.sharding.out);
    }
    for (int value : {plan_.loss_value, plan_.accuracy_value}) {
      lies_as(value, {});
    }
  }

  // In every sequence: nobody reads what somebody else has overwritten; a result overwrites an operand of its own step
  // only where allowed; what is stored between steps, and what is read after them, is there at the end.
  void arena() const {
    for (const Sequence& sequence : program_.sequences) {
      std::vector<bool> valid(program_.values.size());
      for (const ParameterPlan& parameter : plan_.parameters) {
        valid[parameter.value] = true;
        for (int state : parameter.state_values) valid[state] = true;
      }
      for (int value : plan_.input_values) valid[value] = true;
      const SequenceSteps steps = program_.steps(sequence);
      for (int position = 0; position < steps.size(); ++position) {
        run_step(steps[position], plan_.arena.workspace[steps.id(position)], valid);
      }
      std::vector<int> left = plan_.input_values;
      left.insert(left.end(), {plan_.loss_value, plan_.accuracy_value});
      if (sequence.purpose == Purpose::evaluate) {
        for (const ParameterPlan& parameter : plan_.parameters) {
          left.push_back(parameter.value);
          left.insert(left.end(), parameter.state_values.begin(), parameter.state_values.end());
        }
      } else {
        for (const Parameter& parameter : graph_.parameters) {
          left.push_back(only_version(parameter.updated));
          for (ValueId state : parameter.updated_state) left.push_back(only_version(state));
        }
      }
      for (int value : left) require(valid[value], plan_.value_name(value), "was overwritten");
    }
  }

  void totals() const {
    double wire = 0, flops = 0, seconds = 0;
    const SequenceSteps steps = plan_.steps();
    for (int p = 0; p < steps.size(); ++p) {
      wire += steps[p].wire_bytes, flops += steps[p].flops, seconds += plan_.seconds(p);
    }
    const PlanTotals& totals = plan_.totals;
    require(same(totals.wire_bytes_per_device, wire), "totals", "wire bytes are not the steps' sum");
    require(same(totals.flops_per_device, flops), "totals", "flops are not the steps' sum");
    require(same(totals.seconds_per_step, seconds), "totals", "seconds are not the steps' sum");
    require(std::isfinite(seconds) && seconds > 0, "totals", "the predicted time is not a time");
    int64_t most = 0;
    for (int p = 0; p < steps.size(); ++p) {
      int64_t live = 0;
      for (const Buffer& one : plan_.arena.buffers) {
        if (one.first <= p && p <= one.last) live += round_up(one.bytes);
      }
      most = std::max(most, live);
    }
    int64_t categories = 0;
    for (int64_t bytes : totals.memory) categories += bytes;
    require(totals.live_lower_bound == most, "totals", "the live lower bound is not the largest sum of live buffers");
    require(categories == most, "totals", "the categories do not sum to the peak");
    require(totals.memory_total == plan_.arena.bytes && most <= plan_.arena.bytes, "totals", "the arena is too small");
  }

 private:
  static void require(bool holds, const std::string& where, const std::string& what) {
    if (!holds) throw Failure(Error{"unsound_plan", what, where, ""});
  }
  void require(bool holds, const Step& step, const char* what) const {
    if (!holds) require(false, plan_.step_name(step), what);
  }

  void run_step(const Step& step, int workspace, std::vector<bool>& valid) const {
    for (int input : step.inputs) require(valid[input], step, "an operand has been overwritten or never made");
    for (size_t i = 0; i < step.outputs.size(); ++i) {
      const Buffer& target = buffer(step.outputs[i]);
      for (size_t j = 0; j < step.inputs.size(); ++j) {
        const Buffer& source = buffer(step.inputs[j]);
        require(!overlap(target, source) || (&target == &source && may_overwrite(step, i, j)), step,
                "a result overwrites an operand");
      }
      overwrite(target, valid);
    }
    const Buffer* scratch = workspace >= 0 ? &plan_.arena.buffers[workspace] : nullptr;
    if (scratch) {
      for (int value : step.inputs) require(!overlap(*scratch, buffer(value)), step, "workspace lies on an operand");
      overwrite(*scratch, valid);
    }
    for (int output : step.outputs) {
      for (int other : step.outputs) {
        require(output == other || !overlap(buffer(output), buffer(other)), step, "two results in one place");
      }
      require(buffer(output).bytes == program_.values[output].bytes(), step,
              "a buffer has another size than its value");
      require(!scratch || !overlap(*scratch, buffer(output)), step, "workspace lies on a result");
      valid[output] = true;
    }
  }
  static bool same(double a, double b) { return std::abs(a - b) <= 1e-9 * std::abs(b); }

  FactorRule rule_of(const Op& op) const {
    std::vector<TensorType> operands, results;
    for (ValueId input : op.inputs) operands.push_back(graph_.type(input));
    for (ValueId output : op.outputs) results.push_back(graph_.type(output));
    return op.definition->factors(op.attributes, operands, results);
  }

  // What part i of the step does to a layout.
  void layout_moves(const Step& step, size_t i, const Sharding& from, const Sharding& to) const {
    Sharding expected = from;
    unsigned group = 0;
    for (AxisIndex axis : step.axes) group |= 1u << axis;
    auto join = [&](int dim) {
      for (int a = step.axes.count; a-- > 0;) {
        AxisList& list = expected.dims[dim];
        require(!list.empty() && list.back() == step.axes.axes[a], step, "gathers axes that are not the minor ones");
        list.pop_back();
      }
    };
    auto split = [&](int dim) {
      for (AxisIndex axis : step.axes) expected.dims[dim].push_back(axis);
    };
    switch (step.kind) {
      case StepKind::compute: return;
      case StepKind::slice:
        require((from.used_axes() & group) == 0, step, "slices along an axis in use");
        for (int d = 0; d < to.rank; ++d) require(to.dims[d].starts_with(from.dims[d]), step, "a slice that joins");
        require(to.partial == from.partial && to.used_axes() == (from.used_axes() | group), step, "slices other axes");
        return;
      case StepKind::all_gather: join(step.moved[i].concat_dim); break;
      case StepKind::all_reduce:
      case StepKind::reduce_scatter:
        require((from.partial & group) == group, step, "reduces over axes that are not partial");
        expected.partial &= static_cast<uint8_t>(~group);
        if (step.kind == StepKind::reduce_scatter) split(step.moved[i].split_dim);
        break;
      case StepKind::all_to_all:
        join(step.moved[i].concat_dim);
        split(step.moved[i].split_dim);
        break;
      case StepKind::collective_permute:
        for (int d = 0; d < to.rank; ++d) {
          require(shard_count(from, mesh_, d) == shard_count(to, mesh_, d), step, "permutes shards of two sizes");
        }
        require(from.partial == to.partial, step, "a permute that sums");
        require(step.inputs.size() == 1, step, "two permutes in one, which may go two ways");
        return;
    }
    require(expected == to, step, "gives another layout than it claims");
  }

  void lies_as(int id, const PartitionSpec& spec) const {
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
    for (const Step& step : plan_.steps()) {
      for (int output : step.outputs) {
        if (program_.values[output].graph_value != value) continue;
        try {
          lies_as(output, spec);
          pinned[output] = true;
        } catch (const Failure&) {
          pinned[output] = step.kind != StepKind::compute && pinned[step.inputs[0]];
        }
      }
      if (step.kind != StepKind::compute) continue;
      for (int input : step.inputs) {
        require(program_.values[input].graph_value != value || pinned[input], step,
                "uses a pinned value in a layout made before the pinned one");
      }
    }
    require(std::any_of(pinned.begin(), pinned.end(), [](const auto& entry) { return entry.second; }),
            graph_.values[value].name, "is never as it is pinned");
  }

  int only_version(ValueId value) const {
    int found = -1;
    for (size_t v = 0; v < program_.values.size(); ++v) {
      if (program_.values[v].graph_value != value) continue;
      require(found < 0, graph_.values[value].name, "has two versions");
      found = static_cast<int>(v);
    }
    require(found >= 0, graph_.values[value].name, "is never made");
    return found;
  }

  const Buffer& buffer(int value) const { return plan_.buffer(value); }
  static bool overlap(const Buffer& a, const Buffer& b) {
    return a.offset < b.offset + b.bytes && b.offset < a.offset + a.bytes;
  }
  bool may_overwrite(const Step& step, size_t result, size_t operand) const {
    if (step.kind == StepKind::all_reduce) return result == operand;
    return step.kind == StepKind::compute &&
           graph_.ops[step.op].definition->in_place_operand(static_cast<int>(result)) == static_cast<int>(operand);
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
