#include "engine/compile/typed_graph.h"

#include <algorithm>

#include "engine/graph/casts.h"
#include "engine/graph/op_definition.h"
#include "engine/ops/cast.h"
#include "engine/ops/initialise.h"
#include "engine/ops/registry.h"

namespace shardscope {

namespace {

bool is_cast(const Op& op) { return op.attributes.are<CastAttributes>(); }

std::vector<TensorType> types_of(const Graph& graph, const std::vector<ValueId>& values) {
  std::vector<TensorType> types;
  for (ValueId value : values) types.push_back(graph.type(value));
  return types;
}

// Its results are elements of its operands, in other places.
bool only_moves(const Graph& graph, const Op& op) {
  if (op.inputs.empty() || is_cast(op) || op.definition->is_matrix_product()) return false;
  return op.definition->flops(op.attributes, types_of(graph, op.inputs), types_of(graph, op.outputs)) == 0;
}

class TypedGraph {
 public:
  TypedGraph(const DifferentiatedGraph& step, const TrainingTypes& types)
      : old_(step.graph),
        cotangents_(step.cotangents),
        types_(types),
        add_(&op_definition("add")),
        op_(old_.ops.size(), no_id),
        whole_(old_.values.size(), no_id),
        layer_(old_.values.size(), -1),
        narrow_(old_.values.size(), no_id),
        is_gradient_(old_.values.size()),
        gives_f32_(old_.ops.size()),
        state_of_(old_.values.size(), no_id) {}

  DifferentiatedGraph run() {
    find_gradients();
    for (ValueId value = 0; value < static_cast<ValueId>(old_.values.size()); ++value) {
      if (old_.values[value].kind == ValueKind::input)
        whole_[value] = new_.add_input(old_.values[value].name, old_.type(value));
    }
    for (StateId id = 0; id < static_cast<StateId>(old_.states.size()); ++id) state_of_[old_.states[id].initial] = id;
    for (OpId id = 0; id < static_cast<OpId>(old_.ops.size()); ++id) {
      new_.place = old_.ops[id].place;
      if (old_.ops[id].phase == Phase::initialise) add_state(id);
      else rewrite(id);
    }
    new_.limits = old_.limits;
    for (const auto& [name, value] : old_.outputs) new_.outputs[name] = whole(value, no_id);
    for (ExpertCounts counts : old_.expert_counts) {
      for (ValueId* value : {&counts.chosen, &counts.dropped}) {
        if (*value != no_id) *value = whole(*value, no_id);
      }
      new_.expert_counts.push_back(counts);
    }
    finish_states();
    std::vector<ValueId> cotangents = new_cotangents();
    return {std::move(new_), std::move(cotangents)};
  }

 private:
  static Attributes wide_attributes(const Op& op) { return op.definition->with_f32_result(op.attributes); }

  // Of parameters: also the summands of a gradient, and its parts. And the products and sums that give such in f32.
  void find_gradients() {
    for (const State& state : old_.states) {
      if (state.gradient != no_id) is_gradient_[state.gradient] = true;
    }
    std::vector<int> readers(old_.values.size());
    for (const Op& op : old_.ops) {
      for (ValueId input : op.inputs) ++readers[input];
    }
    for (auto op = old_.ops.rbegin(); op != old_.ops.rend(); ++op) {
      if (op->phase != Phase::backward || !is_gradient_[op->outputs[0]]) continue;
      if (op->definition == add_ || only_moves(old_, *op)) {
        for (ValueId input : op->inputs) is_gradient_[input] = true;
      }
      const OpId maker = widens(old_, *op) ? old_.values[op->inputs[0]].producer : no_id;
      if (maker == no_id || readers[op->inputs[0]] != 1) continue;
      gives_f32_[maker] = types_.reduction == DType::f32 && wide_attributes(old_.ops[maker]) != Attributes();
    }
  }

  void add_state(OpId id) {
    const Op& op = old_.ops[id];
    const State& state = old_.states[state_of_[op.outputs[0]]];
    InitialiseAttributes initialiser = op.attributes.as<InitialiseAttributes>();
    const bool stored = state.is_parameter() && initialiser.type.dtype == DType::f32;
    if (stored) initialiser.type.dtype = types_.parameters;
    const StateId added = new_.add_state(*op.definition, std::move(initialiser), state.collection, state.path);
    State& made = new_.states[added];
    made.trainable = state.trainable;
    made.frozen = state.frozen;
    made.follows = state.follows;
    op_[id] = new_.values[made.initial].producer;
    new_.values[made.before].logical = old_.values[state.before].logical;
    const bool same = new_.type(made.before) == old_.type(state.before);
    (same ? whole_ : narrow_)[state.before] = made.before;
  }

  void rewrite(OpId id) {
    const Op& op = old_.ops[id];
    for (ValueId input : op.inputs) {
      const OpId producer = old_.values[input].producer;
      if (producer != no_id && op_[producer] == no_id) op_[producer] = static_cast<OpId>(new_.ops.size());
    }
    if (is_cast(op) && narrow_[op.inputs[0]] != no_id) return rewrite_cast(id);
    if (op.phase == Phase::backward && is_gradient_[op.outputs[0]] && widens(old_, op)) return rewrite_widening(id);
    if (op.phase == Phase::backward && op.definition == add_ && is_gradient_[op.outputs[0]] &&
        types_.gradients != DType::f32) {
      std::vector<ValueId> summands;
      for (ValueId input : op.inputs) summands.push_back(narrow_gradient(input));
      return append(id, std::move(summands), op.attributes);
    }
    if (moves_narrow(op)) {
      std::vector<ValueId> inputs;
      for (ValueId input : op.inputs) inputs.push_back(narrow_[input] != no_id ? narrow_[input] : whole_[input]);
      return append(id, std::move(inputs), op.attributes);
    }
    std::vector<ValueId> inputs;
    for (ValueId input : op.inputs) inputs.push_back(whole(input, id));
    append(id, std::move(inputs), gives_f32_[id] ? wide_attributes(op) : op.attributes);
  }

  bool moves_narrow(const Op& op) const {
    bool any = false;
    for (ValueId input : op.inputs) {
      if (narrow_[input] != no_id) any = true;
      else if (is_float(old_.type(input).dtype)) return false;
    }
    return any && only_moves(old_, op);
  }

  // Of what is there in a narrower type: left out where that is the type it gives, else made from there.
  void rewrite_cast(OpId id) {
    const Op& op = old_.ops[id];
    const ValueId narrow = narrow_[op.inputs[0]];
    const DType to = op.attributes.as<CastAttributes>().to;
    if (new_.type(narrow).dtype == to) whole_[op.outputs[0]] = narrow, layer_[op.outputs[0]] = any_layer;
    else append(id, {narrow}, op.attributes);
  }

  // Of a gradient.
  void rewrite_widening(OpId id) {
    const Op& op = old_.ops[id];
    const ValueId operand = whole(op.inputs[0], id);
    const DType made = new_.type(operand).dtype;
    if (made == DType::f32) whole_[op.outputs[0]] = operand, layer_[op.outputs[0]] = any_layer;
    else if (made == types_.gradients) narrow_[op.outputs[0]] = operand;
    else append(id, {operand}, op.attributes);
  }

  void append(OpId id, std::vector<ValueId> inputs, Attributes attributes) {
    const Op& op = old_.ops[id];
    const OpId forward = op.forward_op == no_id ? no_id : op_[op.forward_op];
    op_[id] = new_.add_op(*op.definition, op.name, op.phase, std::move(inputs), std::move(attributes), forward);
    for (size_t i = 0; i < op.outputs.size(); ++i) {
      const ValueId value = op.outputs[i], made = new_.ops[op_[id]].outputs[i];
      new_.values[made].logical = old_.values[value].logical;
      const bool narrowed = byte_size(new_.type(made).dtype) < byte_size(old_.type(value).dtype);
      (narrowed ? narrow_ : whole_)[value] = made;
      layer_[value] = any_layer;
    }
  }

  // A value in the type that it had, for an op, widened where it is stored in another: once for each layer.
  ValueId whole(ValueId value, OpId user) {
    if (narrow_[value] == no_id) return whole_[value];
    const int layer = new_.place.layer;
    if (whole_[value] != no_id && (layer_[value] == any_layer || layer_[value] == layer)) return whole_[value];
    const Phase phase = user == no_id ? Phase::forward : old_.ops[user].phase;
    const OpId of = user == no_id ? no_id : old_.ops[user].forward_op;
    const OpId cast = new_.add_op(op_definition("cast"), label(value) + "/widen", phase, {narrow_[value]},
                                  CastAttributes{old_.type(value).dtype}, of == no_id ? no_id : op_[of]);
    whole_[value] = new_.ops[cast].outputs[0];
    layer_[value] = layer;
    new_.values[whole_[value]].logical = old_.values[value].logical;
    return whole_[value];
  }

  ValueId narrow_gradient(ValueId value) {
    if (narrow_[value] != no_id) return narrow_[value];
    const OpId producer = new_.values[whole_[value]].producer;
    const OpId cast = new_.add_op(op_definition("cast"), label(value) + "/narrow", Phase::backward, {whole_[value]},
                                  CastAttributes{types_.gradients}, new_.ops[producer].forward_op);
    return narrow_[value] = new_.ops[cast].outputs[0];
  }

  // Without the collection of states.
  std::string label(ValueId value) const {
    const std::string& name = old_.values[value].name;
    return old_.values[value].kind == ValueKind::state ? name.substr(name.find('/') + 1) : name;
  }

  void finish_states() {
    for (size_t i = 0; i < old_.states.size(); ++i) {
      const State& state = old_.states[i];
      if (state.after != no_id) new_.states[i].after = whole(state.after, no_id);
      if (state.gradient == no_id) continue;
      const bool narrow = types_.gradients != DType::f32;
      new_.states[i].gradient = narrow ? narrow_gradient(state.gradient) : whole(state.gradient, no_id);
    }
  }

  ValueId there(ValueId value) const { return narrow_[value] != no_id ? narrow_[value] : whole_[value]; }

  std::vector<ValueId> new_cotangents() {
    std::vector<ValueId> cotangents(new_.values.size(), no_id);
    for (size_t v = 0; v < cotangents_.size(); ++v) {
      const ValueId value = there(static_cast<ValueId>(v));
      if (cotangents_[v] != no_id && value != no_id) cotangents[value] = there(cotangents_[v]);
    }
    for (const State& state : new_.states) cotangents[state.before] = state.gradient;
    for (size_t v = 0; v < cotangents.size(); ++v) {
      if (cotangents[v] != no_id) new_.values[cotangents[v]].cotangent_of = static_cast<ValueId>(v);
    }
    return cotangents;
  }

  static constexpr int any_layer = -2;

  const Graph& old_;
  const std::vector<ValueId>& cotangents_;
  const TrainingTypes& types_;
  const OpDefinition* add_;
  Graph new_;
  std::vector<OpId> op_;         // per op that was there; of one left out, an op that uses its result
  std::vector<ValueId> whole_;   // per value that was there: in the type that it had
  std::vector<int> layer_;       // of the cast that made it, or any_layer
  std::vector<ValueId> narrow_;  // in a narrower type
  std::vector<bool> is_gradient_;
  std::vector<bool> gives_f32_;  // per op
  std::vector<StateId> state_of_;
};

}  // namespace

DifferentiatedGraph with_types(const DifferentiatedGraph& step, const TrainingTypes& types) {
  return TypedGraph(step, types).run();
}

}  // namespace shardscope
