#include "engine/shard/written_placement.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "engine/graph/casts.h"
#include "engine/shard/fixed_placement.h"
#include "engine/shard/layout_cost.h"
#include "engine/shard/op_kinds.h"

namespace shardscope {

namespace {

// Parameters and their gradients, in every type, and what they are made of or taken apart into.
std::vector<bool> state_values(const Graph& graph) {
  std::vector<bool> state(graph.values.size());
  for (StateId id : graph.parameters()) {
    state[graph.states[id].before] = true;
    if (graph.states[id].gradient != no_id) state[graph.states[id].gradient] = true;
  }
  const std::vector<bool> of_states = ops_of_states(graph);
  for (OpId id = 0; id < static_cast<OpId>(graph.ops.size()); ++id) {
    if (!of_states[id]) continue;
    for (const ValueId output : graph.ops[id].outputs) state[output] = true;
  }
  for (OpId id = static_cast<OpId>(graph.ops.size()) - 1; id >= 0; --id) {
    const Op& op = graph.ops[id];
    if (op.phase != Phase::backward || !state[op.outputs[0]]) continue;
    const bool is_of_part = op.forward_op != no_id && of_states[op.forward_op];
    if (!is_of_part && !widens(graph, op)) continue;
    for (const ValueId input : op.inputs) state[input] = true;
  }
  return state;
}

// These, and the summands of gradients over microbatches; none where no axis is kept.
std::vector<bool> kept_values(const Graph& graph, std::vector<bool> state, uint8_t kept_axes) {
  if (kept_axes == 0) return std::vector<bool>(graph.values.size());
  for (OpId id = static_cast<OpId>(graph.ops.size()) - 1; id >= 0; --id) {
    const Op& op = graph.ops[id];
    if (op.definition->accumulates() && state[op.outputs[0]]) state[op.inputs[0]] = true;
  }
  return state;
}

// The one op that reads a value; no_id where none or several do.
std::vector<OpId> only_readers(const Graph& graph) {
  constexpr OpId several = -2;
  std::vector<OpId> reader(graph.values.size(), no_id);
  for (OpId op = 0; op < static_cast<OpId>(graph.ops.size()); ++op) {
    for (ValueId input : graph.ops[op].inputs) {
      if (reader[input] != op) reader[input] = reader[input] == no_id ? op : several;
    }
  }
  std::replace(reader.begin(), reader.end(), several, no_id);
  return reader;
}

// Per value the op that updates a state in place by it; no_id where there is none.
std::vector<OpId> updates(const Graph& graph) {
  std::vector<OpId> update(graph.values.size(), no_id);
  for (OpId op = 0; op < static_cast<OpId>(graph.ops.size()); ++op) {
    if (graph.ops[op].phase != Phase::update || !graph.ops[op].definition->must_be_in_place()) continue;
    for (ValueId input : graph.ops[op].inputs) update[input] = op;
  }
  return update;
}

uint8_t axis_set(const AxisList& axes) {
  unsigned set = 0;
  for (AxisIndex axis : axes) set |= 1u << axis;
  return static_cast<uint8_t>(set);
}

int64_t parts_of(unsigned axes, const Mesh& mesh) {
  int64_t parts = 1;
  for (AxisIndex axis = 0; axis < mesh.axis_count(); ++axis) {
    if ((axes >> axis) & 1) parts *= mesh.axis_size(axis);
  }
  return parts;
}

// One array of an op: where it is, or where it should go; layout -1 where that is open.
struct Array {
  int type;
  int layout;
  bool state;    // a parameter or its gradient
  bool is_kept;  // such a one, or what a gradient is summed up from: stays split over the kept axes
  auto operator<=>(const Array&) const = default;
};

// All that the rule looks at.
struct Question {
  int kind;
  uint8_t partial;
  std::vector<Array> operands, results;
  auto operator<=>(const Question&) const = default;
};

class OpRule {
 public:
  OpRule(const Mesh& mesh, uint8_t kept_axes, LayoutCosts& costs, const FactorRule& rule, bool matrix_product,
         const Question& question)
      : mesh_(mesh), kept_axes_(kept_axes), costs_(costs), rule_(rule), question_(question) {
    current_.partial = question.partial;
    find_lists();
    find_work_axes(matrix_product);
  }

  Placement best() {
    extend(0, question_.partial);
    return best_;
  }

 private:
  using Score = std::tuple<int64_t, int, double, double, int64_t>;

  void find_lists() {
    lists_.resize(rule_.factors.size());
    auto collect = [&](const std::vector<Array>& arrays, const std::vector<std::vector<DimensionFactors>>& maps) {
      for (size_t i = 0; i < arrays.size(); ++i) {
        if (arrays[i].layout < 0) continue;
        const Placement there = placement_at(rule_, maps[i], costs_.layout(arrays[i].layout), mesh_);
        for (size_t factor = 0; factor < lists_.size(); ++factor) {
          AxisList axes = there.factors[factor];
          std::vector<AxisList>& known = lists_[factor];
          for (; !axes.empty(); axes.pop_back()) {
            if (std::find(known.begin(), known.end(), axes) == known.end()) known.push_back(axes);
          }
        }
      }
    };
    collect(question_.operands, rule_.operands);
    collect(question_.results, rule_.results);
    for (std::vector<AxisList>& known : lists_) {
      std::stable_sort(known.begin(), known.end(), [](const auto& a, const auto& b) { return a.count > b.count; });
      known.push_back({});
    }
  }

  void find_work_axes(bool matrix_product) {
    const Array* largest = nullptr;
    for (const Array& operand : question_.operands) {
      if (matrix_product) work_axes_ |= costs_.layout(operand.layout).used_axes();
      if (!largest || costs_.type(operand.type).bytes() > costs_.type(largest->type).bytes()) largest = &operand;
    }
    if (!matrix_product && largest) work_axes_ = costs_.layout(largest->layout).used_axes();
  }

  void extend(size_t factor, uint8_t used) {
    if (factor == rule_.factors.size()) {
      if (is_contiguous(rule_, current_, mesh_)) judge(used);
      return;
    }
    for (const AxisList& axes : lists_[factor]) {
      const uint8_t set = axis_set(axes);
      if (set & used) continue;
      if (set && (!rule_.factors[factor].splittable || rule_.factors[factor].size % parts_of(set, mesh_) != 0))
        continue;
      current_.factors[factor] = axes;
      extend(factor + 1, used | set);
    }
    current_.factors[factor] = {};
  }

  void judge(uint8_t used) {
    Score score{-parts_of(used & work_axes_, mesh_), 0, 0, 0, -parts_of(used, mesh_)};
    if (found_ && std::get<0>(score) > std::get<0>(score_)) return;
    auto move = [&](const Array& array, int from, int to) {
      const double bytes = costs_.reshard(array.type, from, to).wire_bytes;
      std::get<2>(score) += bytes;
      if (!array.state) std::get<3>(score) += bytes;
    };
    for (size_t i = 0; i < question_.operands.size(); ++i) {
      const Array& operand = question_.operands[i];
      const int there = costs_.layout_id(operand_sharding(rule_, current_, static_cast<int>(i)));
      move(operand, operand.layout, there);
      if (operand.is_kept && !keeps(operand.layout, there)) ++std::get<1>(score);
    }
    for (size_t i = 0; i < question_.results.size(); ++i) {
      const Array& result = question_.results[i];
      if (result.layout < 0) continue;
      const int there = costs_.layout_id(result_sharding(rule_, current_, static_cast<int>(i)));
      move(result, there, result.layout);
      if (result.is_kept && !keeps(result.layout, there)) ++std::get<1>(score);
    }
    if (!found_ || score < score_) best_ = current_, score_ = score, found_ = true;
  }

  // Whether the kept axes of a layout split the same dimensions in another.
  bool keeps(int layout, int other) const {
    const Sharding &one = costs_.layout(layout), &two = costs_.layout(other);
    for (int d = 0; d < one.rank; ++d) {
      if (axis_set(one.dims[d]) & kept_axes_ & ~axis_set(two.dims[d])) return false;
    }
    return true;
  }

  const Mesh& mesh_;
  uint8_t kept_axes_;
  LayoutCosts& costs_;
  const FactorRule& rule_;
  const Question& question_;
  std::vector<std::vector<AxisList>> lists_;  // per factor: what may split it
  uint8_t work_axes_ = 0;
  Placement current_, best_;
  Score score_;
  bool found_ = false;
};

class WrittenRule {
 public:
  WrittenRule(const Graph& graph, const Mesh& mesh, const WrittenLayouts& layouts)
      : graph_(graph),
        mesh_(mesh),
        layouts_(layouts),
        kinds_(op_kinds(graph)),
        state_(state_values(graph)),
        kept_(kept_values(graph, state_, layouts.kept_axes)),
        only_reader_(only_readers(graph)),
        update_of_(updates(graph)),
        costs_(mesh),
        made_(graph.values.size(), -1),
        reader_layout_(graph.values.size(), -1) {
    result_.defined = layouts.pins;
    result_.placements.reserve(graph.ops.size());
    for (const Value& value : graph.values) types_.push_back(costs_.type_id(value.type));
    for (size_t v = 0; v < reader_layout_.size(); ++v) {
      if (layouts.pins[v]) reader_layout_[v] = costs_.layout_id(*layouts.pins[v]);
    }
  }

  WrittenPlacements run(const std::stop_token& stop) {
    for (OpId op = 0; op < static_cast<OpId>(graph_.ops.size()) && !stop.stop_requested(); ++op) place(op);
    return std::move(result_);
  }

 private:
  void place(OpId id) {
    const Op& op = graph_.ops[id];
    const FactorRule& rule = graph_.rule(id);
    std::optional<Placement> fixed = fixed_placement(graph_, mesh_, rule, id, layouts_.pins);
    if (op.definition->accumulates()) {
      if (!fixed) fixed = accumulation(id);
      if (fixed->partial == 0) take_at(op.inputs[0], id, operand_sharding(rule, *fixed, 0));
    }
    if (!fixed) fixed = gradient_cast(id);
    const Placement chosen = fixed ? *fixed : answer(id, take_partial(id));
    result_.placements.push_back({});
    put(id, chosen);
  }

  void put(OpId id, const Placement& placement) {
    const Op& op = graph_.ops[id];
    result_.placements[id] = placement;
    for (size_t i = 0; i < op.outputs.size(); ++i) {
      const ValueId value = op.outputs[i];
      made_[value] = costs_.layout_id(result_sharding(graph_.rule(id), placement, static_cast<int>(i)));
      // Gradients are brought to their parameters by the updates that read them; other sums over microbatches are
      // reduced when all have run.
      const bool open = op.definition->accumulates() && placement.partial != 0;
      if (!layouts_.pins[value] && !state_[value] && !open) result_.defined[value] = layouts_.aims[value];
      reader_layout_[value] = result_.defined[value] ? costs_.layout_id(*result_.defined[value]) : made_[value];
    }
  }

  // Whether partial sums may go through a cast, to be added to others in the wider type. Elsewhere they are reduced in
  // the smaller one.
  bool passes_partial(OpId id) const {
    const ValueId result = graph_.ops[id].outputs[0];
    return !layouts_.pins[result] && only_reader_[result] != no_id && graph_.rule(only_reader_[result]).linear;
  }

  // Summands over microbatches stay as made. A parameter's gradient is widened where its update takes it, and brought
  // there before; a small one where it was made, to be brought there with others.
  std::optional<Placement> gradient_cast(OpId id) {
    const Op& op = graph_.ops[id];
    if (op.phase != Phase::backward || !widens(graph_, op)) return std::nullopt;
    const ValueId operand = op.inputs[0], result = op.outputs[0];
    const FactorRule& rule = graph_.rule(id);
    const OpId reader = only_reader_[result];
    if (reader != no_id && graph_.ops[reader].definition->accumulates()) {
      Placement kept = placement_at(rule, rule.operands[0], costs_.layout(made_[operand]), mesh_);
      kept.partial = take_partial(id);
      return kept.partial ? std::optional(kept) : std::nullopt;
    }
    if (!state_[result]) return std::nullopt;
    const std::optional<Sharding>& pin = layouts_.pins[result];
    if (!pin && update_of_[result] == no_id && !layouts_.aims[result]) return std::nullopt;
    const bool small = !layouts_.bucketed.empty() && layouts_.bucketed[result];
    const bool stays = small && !pin && only_reader_[operand] == id && !layouts_.pins[operand];
    const Sharding& at = stays ? costs_.layout(made_[operand]) : pin ? *pin : update_layout(result);
    Placement placement = placement_at(rule, rule.operands[0], at, mesh_);
    if (stays && at.reduction == Reduction::sum) placement.partial = at.partial;
    return placement;
  }

  Sharding update_layout(ValueId gradient) const {
    const OpId update = update_of_[gradient];
    if (update == no_id) return *layouts_.aims[gradient];
    const Op& op = graph_.ops[update];
    const FactorRule& rule = graph_.rule(update);
    const auto operand = std::ranges::find(op.inputs, gradient) - op.inputs.begin();
    return operand_sharding(rule, *fixed_placement(graph_, mesh_, rule, update, layouts_.pins),
                            static_cast<int>(operand));
  }

  // Of a value whose partial sums went through a cast, but are not added to others behind it.
  void reduce_before_cast(ValueId value) {
    const OpId cast = graph_.values[value].producer;
    if (cast == no_id || state_[value] || !widens(graph_, graph_.ops[cast])) return;
    if (result_.placements[cast].partial == 0) return;
    const ValueId operand = graph_.ops[cast].inputs[0];
    if (!state_[operand]) result_.defined[operand] = layouts_.aims[operand];
    if (result_.defined[operand]) reader_layout_[operand] = costs_.layout_id(*result_.defined[operand]);
    put(cast, answer(cast, 0));
  }

  // The axes over which an op adds up partial sums: where it is linear and the only reader of all its operands, and all
  // are partial over them. These operands then stay as they were made.
  uint8_t take_partial(OpId id) {
    const Op& op = graph_.ops[id];
    if (!graph_.rule(id).linear || (widens(graph_, op) && !passes_partial(id))) return 0;
    uint8_t partial = 0xff;
    for (ValueId value : op.inputs) {
      const bool open = only_reader_[value] == id && made_[value] >= 0 && !layouts_.pins[value];
      const Sharding* made = open ? &costs_.layout(made_[value]) : nullptr;
      partial &= made && made->reduction == Reduction::sum ? made->partial : uint8_t{0};
    }
    for (ValueId value : op.inputs) {
      if (partial) {
        result_.defined[value].reset(), reader_layout_[value] = made_[value];
      } else {
        reduce_before_cast(value);
      }
    }
    return partial;
  }

  // Sums over microbatches stay as partial as what they add up, to be reduced once, unless they should be split over
  // the axes that this would take: then each microbatch's part is brought there.
  std::optional<Placement> accumulation(OpId id) {
    const Op& op = graph_.ops[id];
    if (!op.definition->accumulates()) return std::nullopt;
    const FactorRule& rule = graph_.rule(id);
    const ValueId operand = op.inputs[0];
    const std::optional<Sharding>& aim = layouts_.aims[op.outputs[0]];
    const Sharding& made = costs_.layout(made_[operand]);
    if (!aim || (made.partial & aim->used_axes()) == 0) {
      Placement kept = placement_at(rule, rule.operands[0], made, mesh_);
      kept.partial = take_partial(id);
      if (kept.partial) return kept;
    }
    return aim ? placement_at(rule, rule.results[0], *aim, mesh_) : placement_at(rule, rule.operands[0], made, mesh_);
  }

  // A value that one op alone reads is brought from where it is made to where that op takes it, and nowhere else.
  void leave_as_made(ValueId value, OpId reader) {
    if (layouts_.pins[value] || only_reader_[value] != reader || made_[value] < 0) return;
    result_.defined[value].reset();
    reader_layout_[value] = made_[value];
  }

  // The same; where a cast widens it, in front of the cast.
  void take_at(ValueId value, OpId reader, const Sharding& taken) {
    const OpId cast = graph_.values[value].producer;
    if (cast != no_id && widens(graph_, graph_.ops[cast]) && only_reader_[value] == reader && !layouts_.pins[value]) {
      put(cast, placement_at(graph_.rule(cast), graph_.rule(cast).results[0], taken, mesh_));
      leave_as_made(graph_.ops[cast].inputs[0], cast);
    }
    leave_as_made(value, reader);
  }

  const Placement& answer(OpId id, uint8_t partial) {
    const Op& op = graph_.ops[id];
    Question& question = question_;
    question.kind = kinds_.of_op[id];
    question.partial = partial;
    question.operands.clear();
    question.results.clear();
    for (ValueId value : op.inputs)
      question.operands.push_back({types_[value], reader_layout_[value], state_[value], kept_[value]});
    for (ValueId value : op.outputs) {
      const std::optional<Sharding>& aim = layouts_.aims[value];
      question.results.push_back({types_[value], aim ? costs_.layout_id(*aim) : -1, state_[value], kept_[value]});
    }
    auto [known, added] = answers_.try_emplace(question);
    if (added) {
      known->second =
          OpRule(mesh_, layouts_.kept_axes, costs_, graph_.rule(id), op.definition->is_matrix_product(), known->first)
              .best();
    }
    return known->second;
  }

  const Graph& graph_;
  const Mesh& mesh_;
  const WrittenLayouts& layouts_;
  OpKinds kinds_;
  std::vector<bool> state_, kept_;
  std::vector<OpId> only_reader_;
  std::vector<OpId> update_of_;  // per gradient
  LayoutCosts costs_;
  std::vector<int> types_;
  std::vector<int> made_;           // per result: the layout that its op gives it
  std::vector<int> reader_layout_;  // per value: the layout that its readers find
  Question question_;               // about the op at hand
  std::map<Question, Placement> answers_;
  WrittenPlacements result_;
};

}  // namespace

WrittenLayouts written_layouts(const Graph& graph, const Mesh& mesh, const std::vector<std::optional<Sharding>>& pins,
                               const std::vector<Sharding>& propagated, const std::vector<ValueId>& cotangents) {
  WrittenLayouts layouts{pins, pins};
  std::vector<std::optional<Sharding>>& aims = layouts.aims;
  for (const Op& op : graph.ops) {
    if (op.phase != Phase::forward) continue;
    for (ValueId value : op.outputs) {
      if (!aims[value] && !graph.type(value).shape.empty()) aims[value] = propagated[value];
    }
  }
  for (size_t v = 0; v < graph.values.size(); ++v) {
    if (graph.values[v].again_of != no_id && !aims[v]) aims[v] = aims[graph.values[v].again_of];
  }
  for (const State& state : graph.states) {
    if (state.gradient != no_id && !aims[state.gradient]) aims[state.gradient] = aims[state.before];
  }
  const std::vector<bool> of_states = values_of_states(graph);
  for (size_t v = 0; v < cotangents.size(); ++v) {
    const bool becomes_gradient = of_states[v] && graph.values[v].kind == ValueKind::result;
    if (cotangents[v] != no_id && !aims[cotangents[v]] && !becomes_gradient) aims[cotangents[v]] = aims[v];
  }
  for (OpId id = static_cast<OpId>(graph.ops.size()) - 1; id >= 0; --id) {
    const Op& op = graph.ops[id];
    if (op.phase != Phase::backward || !aims[op.outputs[0]]) continue;
    const FactorRule& rule = graph.rule(id);
    if (!rule.linear) continue;
    const Placement placement = placement_at(rule, rule.results[0], *aims[op.outputs[0]], mesh);
    if (!is_contiguous(rule, placement, mesh)) continue;
    for (size_t i = 0; i < op.inputs.size(); ++i) {
      if (!aims[op.inputs[i]]) aims[op.inputs[i]] = operand_sharding(rule, placement, static_cast<int>(i));
    }
  }
  return layouts;
}

WrittenPlacements written_placements(const Graph& graph, const Mesh& mesh, const WrittenLayouts& layouts,
                                     std::stop_token stop) {
  return WrittenRule(graph, mesh, layouts).run(stop);
}

}  // namespace shardscope
