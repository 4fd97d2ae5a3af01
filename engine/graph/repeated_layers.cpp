#include "engine/graph/repeated_layers.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "engine/graph/op_definition.h"

namespace shardscope {

namespace {

class Shortening {
 public:
  explicit Shortening(const Graph& forward) : forward_(forward), position_(forward.ops.size(), -1) {
    for (OpId id = 0; id < static_cast<OpId>(forward.ops.size()); ++id) {
      const Op& op = forward.ops[id];
      if (op.phase != Phase::forward || op.place.layer < 0) continue;
      const auto layer = static_cast<size_t>(op.place.layer);
      if (layer >= layers_.size()) layers_.resize(layer + 1);
      position_[id] = static_cast<int>(layers_[layer].size());
      layers_[layer].push_back(id);
    }
    own_state_.assign(forward.states.size(), {-1, -1});
    for (int layer = 0; layer < static_cast<int>(layers_.size()); ++layer) {
      int count = 0;
      for (OpId op : layers_[static_cast<size_t>(layer)]) {
        for (ValueId input : forward.ops[op].inputs) {
          const Value& value = forward.values[input];
          if (value.kind != ValueKind::state) continue;
          auto& [owner, number] = own_state_[static_cast<size_t>(value.state)];
          if (owner < 0) owner = layer, number = count++;
          else if (owner != layer) owner = shared;
        }
      }
    }
    find_last_uses();
  }

  ShortenedGraph run() {
    ShortenedGraph result;
    const int count = static_cast<int>(layers_.size());
    left_out_.assign(layers_.size(), false);
    int kept = 0;
    for (int first = 0, end = 0; first < count; first = end) {
      end = first + 1;
      while (end < count && are_equal(end - 1, end)) ++end;
      for (int layer = first; layer + 1 < end; ++layer) {
        if (last_use_[static_cast<size_t>(layer)] > layer + 1) end = first + 1;
      }
      EqualLayers layers{first, end - first, kept, std::min(end - first, 2)};
      for (int layer = first + 1; layer + 1 < end; ++layer) left_out_[static_cast<size_t>(layer)] = true;
      kept += layers.kept_count;
      result.layers.push_back(layers);
    }
    result.graph = copy();
    return result;
  }

 private:
  static constexpr int shared = -2;

  // Where an operand comes from: (kind, ...), equal for what equal layers use alike.
  using Source = std::tuple<int, int64_t, int64_t>;
  Source source(ValueId id, int layer) const {
    const Value& value = forward_.values[id];
    if (value.kind == ValueKind::state) {
      const auto [owner, number] = own_state_[static_cast<size_t>(value.state)];
      const State& state = forward_.states[value.state];
      if (owner == layer) return {1, number, state.trainable * 2 + state.frozen};
    } else if (value.producer != no_id && position_[value.producer] >= 0) {
      const int behind = layer - forward_.ops[value.producer].place.layer;
      if (behind == 0 || behind == 1) return {2 + behind, position_[value.producer], value.result_index};
    }
    return {0, id, 0};
  }

  bool are_equal(int a, int b) const {
    const std::vector<OpId>&one = layers_[static_cast<size_t>(a)], &two = layers_[static_cast<size_t>(b)];
    if (one.size() != two.size()) return false;
    for (size_t i = 0; i < one.size(); ++i) {
      const Op &left = forward_.ops[one[i]], &right = forward_.ops[two[i]];
      if (left.definition != right.definition || left.signature != right.signature ||
          left.place.part != right.place.part || left.inputs.size() != right.inputs.size() ||
          !(left.attributes == right.attributes))
        return false;
      for (size_t j = 0; j < left.inputs.size(); ++j) {
        if (source(left.inputs[j], a) != source(right.inputs[j], b)) return false;
        if (forward_.values[left.inputs[j]].logical != forward_.values[right.inputs[j]].logical) return false;
      }
    }
    return true;
  }

  // Per layer the furthest layer that uses its results; beyond all layers where something else does.
  void find_last_uses() {
    const int beyond = static_cast<int>(layers_.size());
    last_use_.assign(layers_.size(), -1);
    const auto use = [&](ValueId value, int by) {
      const OpId producer = forward_.values[value].producer;
      if (producer == no_id || position_[producer] < 0) return;
      int& last = last_use_[static_cast<size_t>(forward_.ops[producer].place.layer)];
      last = std::max(last, by);
    };
    for (const Op& op : forward_.ops) {
      for (ValueId input : op.inputs) use(input, op.place.layer < 0 ? beyond : op.place.layer);
    }
    for (const auto& [name, value] : forward_.outputs) use(value, beyond);
  }

  bool is_left_out(int layer) const { return layer >= 0 && left_out_[static_cast<size_t>(layer)]; }

  Graph copy() {
    Graph graph;
    std::vector<ValueId> now(forward_.values.size(), no_id);
    std::vector<int> number(layers_.size());
    for (size_t layer = 1; layer < number.size(); ++layer)
      number[layer] = number[layer - 1] + (left_out_[layer] ? 0 : 1);
    for (ValueId id = 0; id < static_cast<ValueId>(forward_.values.size()); ++id) {
      const Value& value = forward_.values[id];
      if (value.kind == ValueKind::input) now[id] = graph.add_input(value.name, value.type);
    }
    std::map<ValueId, StateId> made_by;
    std::vector<StateId> state_now(forward_.states.size(), no_id);
    for (size_t s = 0; s < forward_.states.size(); ++s) made_by[forward_.states[s].initial] = static_cast<StateId>(s);
    for (const Op& op : forward_.ops) {
      const auto made = op.outputs.empty() ? made_by.end() : made_by.find(op.outputs[0]);
      const bool makes_state = op.phase == Phase::initialise && made != made_by.end();
      const int owner = makes_state ? own_state_[static_cast<size_t>(made->second)].first : op.place.layer;
      if (is_left_out(owner)) continue;
      graph.place = op.place;
      if (op.place.layer >= 0) graph.place.layer = number[static_cast<size_t>(op.place.layer)];
      if (makes_state) {
        const State& state = forward_.states[made->second];
        const StateId id = graph.add_state(*op.definition, op.attributes, state.collection, state.path);
        State& copied = graph.states[id];
        copied.trainable = state.trainable;
        copied.frozen = state.frozen;
        if (state.follows != no_id) copied.follows = state_now[static_cast<size_t>(state.follows)];
        state_now[static_cast<size_t>(made->second)] = id;
        now[state.initial] = copied.initial;
        now[state.before] = copied.before;
        continue;
      }
      std::vector<ValueId> inputs;
      for (ValueId input : op.inputs) inputs.push_back(now[kept_for(input)]);
      const OpId id = graph.add_op(*op.definition, op.name, op.phase, std::move(inputs), op.attributes);
      for (size_t i = 0; i < op.outputs.size(); ++i) now[op.outputs[i]] = graph.ops[id].outputs[i];
    }
    graph.place = {};
    for (size_t id = 0; id < now.size(); ++id) {
      if (now[id] != no_id) graph.values[now[id]].logical = forward_.values[id].logical;
    }
    for (size_t s = 0; s < forward_.states.size(); ++s) {
      const State& state = forward_.states[s];
      if (state_now[s] != no_id && state.after != no_id) graph.states[state_now[s]].after = now[kept_for(state.after)];
    }
    graph.limits = forward_.limits;
    for (const auto& [name, value] : forward_.outputs) graph.outputs[name] = now[value];
    return graph;
  }

  // The value, or what stands for it where its layer is left out: that of the first of the equal layers.
  ValueId kept_for(ValueId id) const {
    const Value& value = forward_.values[id];
    if (value.producer == no_id || position_[value.producer] < 0) return id;
    int layer = forward_.ops[value.producer].place.layer;
    if (!is_left_out(layer)) return id;
    while (is_left_out(layer)) --layer;
    const OpId op = layers_[static_cast<size_t>(layer)][static_cast<size_t>(position_[value.producer])];
    return forward_.ops[op].outputs[static_cast<size_t>(value.result_index)];
  }

  const Graph& forward_;
  std::vector<int> position_;                   // per op: in its layer; -1: in none
  std::vector<std::vector<OpId>> layers_;       // their forward ops
  std::vector<std::pair<int, int>> own_state_;  // per state: the layer that alone uses it, and its number there
  std::vector<int> last_use_;
  std::vector<bool> left_out_;
};

}  // namespace

ShortenedGraph shorten(const Graph& forward) { return Shortening(forward).run(); }

}  // namespace shardscope
