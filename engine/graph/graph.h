#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "engine/base/shape.h"
#include "engine/graph/attributes.h"
#include "engine/graph/factor_rule.h"

namespace shardscope {

class OpDefinition;

using ValueId = int32_t;
using OpId = int32_t;
using StateId = int32_t;
inline constexpr int32_t no_id = -1;

// What an op is part of. Ops stand in the graph in this order, but for `recompute`, forward done again where backward
// needs it, among whose ops they stand, and `initialise`, which stands by itself: its results are the states' first
// values. The first `step_phases` are those of a step.
enum class Phase : uint8_t { forward, backward, update, recompute, initialise };
inline constexpr int step_phases = 4;
std::string_view name(Phase phase);
// The phase of the task in which ops of a phase run: what is recomputed is part of backward.
constexpr Phase task_phase(Phase phase) { return phase == Phase::recompute ? Phase::backward : phase; }

// Where in a network an op is, as its model says: for rematerialisation and pipeline stages. Of attention its core
// alone: scores, mask, softmax and weighted sum, and not what makes queries, keys and values, or takes the context.
enum class LayerPart : uint8_t { other, attention, mlp };
struct NetworkPlace {
  int layer = -1;  // of those that repeat, from 0; -1: before or behind them
  LayerPart part = LayerPart::other;
  bool operator==(const NetworkPlace&) const = default;
};

// Where a value comes from. Inputs and states have no producer.
enum class ValueKind : uint8_t { input, state, result };

// An array of the unpartitioned step.
struct Value {
  std::string name;  // a state's name, an input's name, or "op name", "op name:result"
  TensorType type;
  ValueKind kind = ValueKind::result;
  OpId producer = no_id;
  int result_index = 0;
  StateId state = no_id;             // of kind state
  ValueId again_of = no_id;          // the forward result that this is, recomputed
  ValueId cotangent_of = no_id;      // the value whose gradient this is; of several the one nearest the loss
  std::vector<std::string> logical;  // the dimensions' logical names ("batch", "embed", "" for none); or empty
};

// What the shape rule of an op says of operands of given types; ops that agree in definition, attributes and operands
// share one.
struct OpSignature {
  std::vector<TensorType> results;
  FactorRule rule;
};

struct Op {
  const OpDefinition* definition = nullptr;
  std::string name;  // module path and op, "SelfAttentionBlock_0/MLP_0/Dense_0/einsum"
  Phase phase = Phase::forward;
  OpId forward_op = no_id;  // backward ops: the op that they differentiate; recompute: that they do again
  Attributes attributes;
  std::vector<ValueId> inputs;
  std::vector<ValueId> outputs;
  int signature = 0;   // index into Graph::signatures
  NetworkPlace place;  // of a backward op that of its forward op
};

// An array that persists between steps: a parameter, optimizer state, an accumulator, whatever a model keeps.
struct State {
  std::vector<std::string> path;  // of a parameter {"params", "Embed_0", "embedding"}; of its optimizer state the same
  std::string collection;         // "params", "optimizer/mu", ...
  ValueId initial = no_id;        // result of the op that makes the first value
  ValueId before = no_id;         // its value when a step begins
  ValueId after = no_id;          // and when it ends; no_id where steps do not change it
  StateId follows = no_id;        // the state whose spec is its own unless it has one
  bool trainable = false;         // gets a gradient
  ValueId gradient = no_id;       // set by differentiate()
  bool frozen = false;            // a parameter that gets none

  bool is_parameter() const { return trainable || frozen; }
  bool is_of_optimizer() const { return collection.starts_with("optimizer/"); }
};

// How many tokens chose each expert of a layer, and how many choices found no room: sums over a step, f32.
struct ExpertCounts {
  std::string layer;        // path of the module, "model/layers/0/mlp"
  ValueId chosen = no_id;   // (experts)
  ValueId dropped = no_id;  // scalar; no_id where every choice has room
};

// A training step as a list of ops in dependency order: forward, backward, update; and the ops that make the states'
// first values. Knows nothing of devices.
struct Graph {
  std::vector<Value> values;
  std::vector<Op> ops;
  std::vector<OpSignature> signatures;
  std::vector<State> states;               // in the order in which they were made, parameters first
  std::map<std::string, ValueId> inputs;   // "tokens", "labels"
  std::map<std::string, int64_t> limits;   // of inputs that stand for something: their values lie in [0, limit)
  std::map<std::string, ValueId> outputs;  // "logits", "loss", "accuracy"
  std::vector<ExpertCounts> expert_counts;
  NetworkPlace place;  // of the ops that are added now

  // Appends an op of the registered definition under a name of its own: a name that is taken gets "_1", "_2", ...;
  // types of the results follow from its shape rule. Throws Failure (naming the op) when the operands do not fit.
  OpId add_op(const OpDefinition& definition, std::string name, Phase phase, std::vector<ValueId> inputs,
              Attributes attributes = {}, OpId forward_op = no_id);
  ValueId add_input(std::string name, TensorType type);
  // Puts the ops in another order: order[i] is the one that becomes op i.
  void reorder(const std::vector<OpId>& order);
  // A state named collection + path ("params/Embed_0/embedding", "optimizer/mu/params/Embed_0/embedding"; a collection
  // that the path begins with is not repeated), whose first value `initialiser` makes: an op without operands. Its
  // value before the step is added, too.
  StateId add_state(const OpDefinition& initialiser, Attributes attributes, std::string collection,
                    std::vector<std::string> path);

  const TensorType& type(ValueId value) const { return values[value].type; }
  const FactorRule& rule(OpId op) const { return signatures[ops[op].signature].rule; }
  const std::string& name(const State& state) const { return values[state.before].name; }
  // The states that get gradients, in order; and with the parameters that are frozen.
  std::vector<StateId> trainable() const;
  std::vector<StateId> parameters() const;

 private:
  int sign(const OpDefinition& definition, const std::string& name, const Attributes& attributes,
           const std::vector<ValueId>& inputs);

  struct TakenName {
    OpId op;
    int asked;  // how often
  };
  TakenName* find_name(std::string_view name);

  std::unordered_multimap<uint64_t, TakenName> names_;  // of ops, by their hash
  std::unordered_multimap<uint64_t, OpId> signed_ops_;  // by what they are made of: an op of each signature
};

// While it lives, ops that are added are of this layer, or of this part of the layer at hand.
class PlaceScope {
 public:
  PlaceScope(Graph& graph, int layer) : PlaceScope(graph, NetworkPlace{layer, LayerPart::other}) {}
  PlaceScope(Graph& graph, LayerPart part) : PlaceScope(graph, NetworkPlace{graph.place.layer, part}) {}
  ~PlaceScope() { graph_.place = before_; }
  PlaceScope(const PlaceScope&) = delete;
  PlaceScope& operator=(const PlaceScope&) = delete;

 private:
  PlaceScope(Graph& graph, NetworkPlace place) : graph_(graph), before_(std::exchange(graph.place, place)) {}

  Graph& graph_;
  NetworkPlace before_;
};

// Throws Failure naming the op where an operand is defined late, an id is out of range or a type disagrees.
void verify(const Graph& graph);
// One line an op: "%12 f32(64, 128, 512) = einsum(%3, %7) {equation=...} name [backward of 5]".
std::string to_string(const Graph& graph);

}  // namespace shardscope
