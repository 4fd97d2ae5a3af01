#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "engine/base/shape.h"

namespace shardscope {

class OpDefinition;

using ValueId = int32_t;
using OpId = int32_t;
inline constexpr int32_t no_id = -1;

using Attribute = std::variant<int64_t, double, std::string>;
using Attributes = std::map<std::string, Attribute, std::less<>>;

int64_t integer(const Attributes& attributes, std::string_view key);
double real(const Attributes& attributes, std::string_view key);
const std::string& text(const Attributes& attributes, std::string_view key);

enum class Phase : uint8_t { forward, backward, update };
std::string_view name(Phase phase);

// Where a value comes from. Sources (all but `result`) have no producer.
enum class ValueKind : uint8_t { input, parameter, optimizer_state, result };

// How a parameter starts; the names and formulas are those of jax.nn.initializers. `fan_in`, `fan_out` are those
// of the flattened kernel. `key_path` and `key_counter` name the Flax Linen random key (see engine/base/random.h).
struct Initializer {
  enum class Kind : uint8_t { zeros, ones, normal, lecun_normal } kind = Kind::zeros;
  double stddev = 0;   // normal
  int64_t fan_in = 0;  // lecun_normal
  std::vector<std::string> key_path;
  int64_t key_counter = 1;
};

// An array of the unpartitioned training step.
struct Value {
  std::string name;  // a parameter's path joined by '/', an input's name, or "op name:result"
  TensorType type;
  ValueKind kind = ValueKind::result;
  OpId producer = no_id;
  int result_index = 0;
};

struct Op {
  const OpDefinition* definition = nullptr;
  std::string name;  // module path and op, "params/SelfAttentionBlock_0/MLP_0/Dense_0/einsum"
  Phase phase = Phase::forward;
  OpId forward_op = no_id;  // backward ops: the op that they differentiate
  Attributes attributes;
  std::vector<ValueId> inputs;
  std::vector<ValueId> outputs;
};

struct Parameter {
  std::vector<std::string> path;  // {"params", "Embed_0", "embedding"}
  ValueId value = no_id;
  Initializer initializer;
  ValueId gradient = no_id;              // set by autodiff
  ValueId updated = no_id;               // set by the optimizer
  std::vector<std::string> state_names;  // optimizer's, "mu", "nu"
  std::vector<ValueId> state;            // values before the step
  std::vector<ValueId> updated_state;    // and after
};

// A training step as a list of ops in dependency order: forward, backward, update. Knows nothing of devices.
struct Graph {
  std::vector<Value> values;
  std::vector<Op> ops;
  std::vector<Parameter> parameters;       // in the order in which the model made them
  std::map<std::string, ValueId> inputs;   // "tokens", "labels"
  std::map<std::string, int64_t> limits;   // of inputs that stand for something: their values lie in [0, limit)
  std::map<std::string, ValueId> outputs;  // "logits", "loss", "accuracy"

  // Appends an op of the registered definition under a name of its own: a name that is taken gets "_1", "_2", ...;
  // shapes of the results follow from its shape rule. Throws Failure (naming the op) when the operands do not fit.
  OpId add_op(const OpDefinition& definition, std::string name, Phase phase, std::vector<ValueId> inputs,
              Attributes attributes = {}, OpId forward_op = no_id);
  ValueId add_source(std::string name, TensorType type, ValueKind kind);
  const TensorType& type(ValueId value) const { return values[value].type; }

 private:
  std::map<std::string, int> names_;  // of ops, with how often each was asked for
};

// Throws Failure naming the op where an operand is defined late, an id is out of range or a type disagrees.
void verify(const Graph& graph);
// One line an op: "%12 f32(64, 128, 512) = einsum(%3, %7) {equation=...} name [backward of 5]".
std::string to_string(const Graph& graph);

}  // namespace shardscope
