#include <QtTest>
#include <cmath>
#include <functional>
#include <set>

#include "engine/graph/autodiff.h"
#include "engine/ops/attention.h"
#include "engine/ops/cast.h"
#include "engine/ops/clip.h"
#include "engine/ops/constant.h"
#include "engine/ops/conv.h"
#include "engine/ops/dispatch.h"
#include "engine/ops/expert_linear.h"
#include "engine/ops/expert_load.h"
#include "engine/ops/grouped_linear.h"
#include "engine/ops/initialise.h"
#include "engine/ops/layer_norm.h"
#include "engine/ops/registry.h"
#include "engine/ops/ring_attention.h"
#include "engine/ops/rotary.h"
#include "engine/ops/scale.h"
#include "engine/ops/soft_cap.h"
#include "engine/ops/split.h"
#include "engine/ops/stack.h"
#include "engine/ops/top_k.h"
#include "engine/ops/zigzag.h"
#include "models/linen.h"
#include "models/losses.h"
#include "tests/laws/agreement.h"
#include "tests/test_program.h"

namespace gradient_test {

using namespace shardscope;

namespace {

constexpr int64_t batch = 2, sequence = 5, vocabulary = 7, width = 8;

ValueId append(Graph& graph, const std::string& op, std::vector<ValueId> inputs, Attributes attributes = {}) {
  return graph.ops[graph.add_op(op_definition(op), op, Phase::forward, std::move(inputs), std::move(attributes))]
      .outputs[0];
}

// Appends a layer under test to x (b, s, e).
using Layer = std::function<ValueId(Graph& graph, const Linen&, ValueId x, ValueId tokens)>;
// A loss of logits (b, s, v).
using Loss = std::function<ValueId(Graph& graph, ValueId logits, ValueId labels)>;

ValueId no_layer(Graph&, const Linen&, ValueId x, ValueId) { return x; }
ValueId cross_entropy(Graph& graph, ValueId logits, ValueId labels) {
  return mean_cross_entropy(graph, logits, labels).loss;
}
ValueId weighted_cross_entropy(Graph& graph, ValueId logits, ValueId labels) {
  const ValueId weights = graph.add_input("weights", {{batch, sequence}, DType::f32});
  return mean_cross_entropy(graph, logits, labels, weights).loss;
}
ValueId next_token_cross_entropy(Graph& graph, ValueId logits, ValueId) {
  return mean_next_token_cross_entropy(graph, logits, graph.inputs.at("tokens")).loss;
}
ValueId squared_error(Graph& graph, ValueId logits, ValueId) {
  return mean_squared_error(graph, logits, graph.add_input("target", graph.type(logits)));
}

struct NamedNetwork {
  const char* name;
  double dropout_rate;
  Layer layer;
  Loss loss = cross_entropy;
};

struct Differentiated {
  Graph graph;
  std::vector<ValueId> cotangents;
};

// tokens -> embedding -> layer -> projection -> loss, differentiated from a cotangent of the loss.
Differentiated network(const NamedNetwork& named, double seed_value = 1) {
  Differentiated made;
  Graph& graph = made.graph;
  TensorType token_type{{batch, sequence}, DType::i32};
  const ValueId tokens = graph.add_input("tokens", token_type), labels = graph.add_input("labels", token_type);
  Linen model(graph, 3, named.dropout_rate);
  ValueId x = model.child("Embed_0").embed(tokens, vocabulary, width);
  x = named.layer(graph, model.child("Layer_0"), x, tokens);
  ValueId logits = model.child("Dense_0").dense(x, "bse,ev->bsv", {width, vocabulary}, {"embed", "vocab"});
  const ValueId loss = graph.outputs["loss"] = named.loss(graph, logits, labels);
  const OpId scale = graph.add_op(op_definition("constant"), "loss/scale", Phase::backward, {},
                                  ConstantAttributes{seed_value, graph.type(loss)});
  const CotangentSeed seed{loss, graph.ops[scale].outputs[0]};
  made.cotangents = differentiate(graph, {&seed, 1}, op_definition("add"), sum_attributes);
  verify(graph);
  return made;
}

ValueId square_dense(const Linen& module, ValueId x) {
  return module.dense(x, "bse,ef->bsf", {width, width}, {"embed", "mlp"});
}

// Four query heads of size 2 that share `key_heads` key heads.
Layer grouped_attention(int64_t key_heads, bool masked, AttentionAttributes attributes) {
  return [=](Graph& graph, const Linen& m, ValueId x, ValueId tokens) {
    auto project = [&](const char* name, int64_t heads) {
      return m.child(name).dense(x, "bse,ehd->bshd", {width, heads, 2}, {"embed", "heads", "kv"});
    };
    std::vector<ValueId> operands{project("query", 4), project("key", key_heads), project("value", key_heads)};
    if (masked) operands.insert(operands.end(), {tokens, tokens});
    const ValueId context = append(graph, "attention", operands, attributes);
    return m.child("out").dense(context, "bshd,hde->bse", {4, 2, width}, {"heads", "kv", "embed"});
  };
}

ValueId through_heads(Graph& graph, const Linen& m, ValueId x, ValueId) {
  const ValueId heads =
      append(graph, "rearrange", {square_dense(m, x)}, EquationAttributes{"bs(hd)->bhsd", {{'h', 2}}});
  return append(graph, "rearrange", {m.gelu(heads)}, EquationAttributes{"bhsd->bs(dh)"});
}

// Pictures of sequence x 4 with two channels, every second column of which is the middle of a window.
ValueId through_pictures(Graph& graph, const Linen& m, ValueId x, ValueId) {
  const ConvAttributes conv{conv_dimension(sequence, 3, 1, ConvPadding::same),
                            conv_dimension(4, 2, 2, ConvPadding::same)};
  const InitialiseAttributes one{InitialiseAttributes::Kind::constant, 1, {}, {{3, 2, 2, 4}, DType::f32}};
  State& kernel = graph.states[graph.add_state(op_definition("initialise"), one, "params", {"params", "window"})];
  kernel.trainable = true;
  const ValueId stored = kernel.before;
  x = append(graph, "rearrange", {square_dense(m, x)}, EquationAttributes{"bs(wc)->bswc", {{'w', 4}}});
  x = append(graph, "conv", {x, stored}, conv);
  return append(graph, "rearrange", {x}, EquationAttributes{"bswc->bs(wc)"});
}

// Of a value's own type: the identity.
ValueId cast_to_itself(Graph& graph, const Linen& m, ValueId x, ValueId) {
  return append(graph, "cast", {square_dense(m, x)}, CastAttributes{DType::f32});
}

ValueId through_bf16(Graph& graph, const Linen& m, ValueId x, ValueId) {
  const ValueId rounded = append(graph, "cast", {square_dense(m, x)}, CastAttributes{DType::bf16});
  return append(graph, "cast", {rounded}, CastAttributes{DType::f32});
}

// Ops in bf16, and so their gradients.
ValueId in_bf16(Graph& graph, const Linen& m, ValueId x, ValueId) {
  const CastAttributes down{DType::bf16}, up{DType::f32};
  const InitialiseAttributes one{InitialiseAttributes::Kind::constant, 1, {}, {{width, 2, 4}, DType::f32}};
  State& kernel = graph.states[graph.add_state(op_definition("initialise"), one, "params", {"params", "kernel"})];
  kernel.trainable = true;
  const ValueId stored = kernel.before;
  x = append(graph, "cast", {x}, down);
  x = append(graph, "einsum", {x, append(graph, "cast", {stored}, down)}, EquationAttributes{"bse,ehd->bshd"});
  x = append(graph, "rearrange", {x}, EquationAttributes{"bshd->bs(hd)"});
  x = append(graph, "add", {x, append(graph, "gelu", {append(graph, "scale", {x}, ScaleAttributes{0.7})})},
             sum_attributes(graph.type(x)));
  x = append(graph, "relu", {x});
  x = append(graph, "dropout", {x}, DropoutAttributes{0.4, {key_from_seed(3), 1, 0, 5}});
  return m.child("Dense_0").dense(append(graph, "cast", {x}, up), "bse,ef->bsf", {width, width}, {"embed", "mlp"});
}

// Two of the three parts are used.
ValueId through_parts(Graph& graph, const Linen& m, ValueId x, ValueId) {
  const ValueId y = square_dense(m, x);
  const ValueId all = append(graph, "stack", {y, m.gelu(y), x}, StackAttributes{1, 3});
  const OpId parts = graph.add_op(op_definition("unstack"), "unstack", Phase::forward, {all}, StackAttributes{1, 3});
  const std::vector<ValueId> made = graph.ops[parts].outputs;
  return append(graph, "add", {made[0], made[1]}, sum_attributes(graph.type(y)));
}

// Behind a layer, so that x has a gradient to pass on.
ValueId rms_norm(Graph& graph, const Linen& m, ValueId x, ValueId) {
  const InitialiseAttributes one{InitialiseAttributes::Kind::constant, 1, {}, {{width}, DType::f32}};
  State& gamma = graph.states[graph.add_state(op_definition("initialise"), one, "params", {"params", "gamma"})];
  gamma.trainable = true;
  const ValueId stored = gamma.before, y = square_dense(m, x);
  return append(graph, "rms_norm", {y, stored, append(graph, "rms_norm_squares", {y})},
                LayerNormAttributes{1e-6, width});
}

// An op of one operand behind a layer.
Layer behind_dense(const char* op, Attributes attributes = {}) {
  return [=](Graph& graph, const Linen& m, ValueId x, ValueId) {
    return append(graph, op, {square_dense(m, x)}, attributes);
  };
}

ValueId gated(Graph& graph, const Linen& m, ValueId x, ValueId) {
  const ValueId gate = append(graph, "silu", {square_dense(m.child("gate"), x)});
  return append(graph, "multiply", {gate, square_dense(m.child("up"), x)});
}

// The first and the last of three parts, in the other order.
ValueId through_split(Graph& graph, const Linen& m, ValueId x, ValueId) {
  const OpId parts = graph.add_op(op_definition("split"), "split", Phase::forward, {square_dense(m, x)},
                                  SplitAttributes{2, {3, 2, 3}});
  const OpId others = graph.add_op(op_definition("split"), "split", Phase::forward, {x}, SplitAttributes{2, {2, 6}});
  const std::vector<ValueId> made = graph.ops[parts].outputs;
  const ValueId other = graph.ops[others].outputs[0];
  return append(graph, "concatenate", {made[2], other, made[0]}, SplitAttributes{2, {3, 2, 3}});
}

Layer rotated(bool interleaved) {
  return [=](Graph& graph, const Linen& m, ValueId x, ValueId) {
    const ValueId heads =
        append(graph, "rearrange", {square_dense(m, x)}, EquationAttributes{"bs(hd)->bshd", {{'h', 2}}});
    const ValueId turned = append(graph, "rotary", {heads}, RotaryAttributes{{1.0f}, 1.25f, interleaved, false});
    return append(graph, "rearrange", {turned}, EquationAttributes{"bshd->bs(hd)"});
  };
}

// The elements of each row as 4 positions with 2 heads of 5, in zig-zag order round a ring of two.
ValueId ring_attention_layer(Graph& graph, const Linen& m, ValueId x, ValueId) {
  RingAttributes ring{{true, {}}, 2, 4, 0};
  const auto heads = [&](const char* name) {
    const ValueId rows = append(graph, "rearrange", {square_dense(m.child(name), x)}, EquationAttributes{"bse->b(se)"});
    const ValueId cut = append(graph, "rearrange", {rows}, EquationAttributes{"b(thd)->bthd", {{'t', 4}, {'h', 2}}});
    return append(graph, "zigzag", {cut}, ZigzagAttributes{2, 1, false});
  };
  const ValueId query = heads("query"), key = heads("key");
  const ValueId value = append(graph, "roll", {heads("value")}, RollAttributes{2, 1});
  const auto block = [&](ValueId k, ValueId v) {
    return graph.ops[graph.add_op(op_definition("attention_block"), "block", Phase::forward, {query, k, v}, ring)]
        .outputs;
  };
  const std::vector<ValueId> first = block(key, value);
  ring.step = 1;
  const std::vector<ValueId> second =
      block(append(graph, "roll", {key}, RollAttributes{2, 1}), append(graph, "roll", {value}, RollAttributes{2, 1}));
  const OpId merge = graph.add_op(op_definition("merge_attention"), "merge", Phase::forward,
                                  {first[0], first[1], second[0], second[1]});
  const std::vector<ValueId> merged = graph.ops[merge].outputs;
  ring.step = 0;
  const OpId result = graph.add_op(op_definition("ring_attention"), "ring", Phase::forward,
                                   {query, key, value, merged[0], merged[1]}, ring);
  const std::vector<ValueId> made = graph.ops[result].outputs;
  const InitialiseAttributes zero{InitialiseAttributes::Kind::constant, 0, {}, {{2}, DType::f32}};
  State& state = graph.states[graph.add_state(op_definition("initialise"), zero, "params", {"params", "ring_sinks"})];
  state.trainable = true;
  const ValueId sinks = state.before;
  const ValueId context = append(graph, "attention_sink", {made[0], made[1], sinks});
  const ValueId row = append(graph, "rearrange", {context}, EquationAttributes{"bthd->b(thd)"});
  return append(graph, "rearrange", {row}, EquationAttributes{"b(se)->bse", {{'s', sequence}}});
}

// Of four experts.
ValueId kernels(Graph& graph, const char* name) {
  const InitialiseAttributes one{InitialiseAttributes::Kind::constant, 1, {}, {{4, width, width}, DType::f32}};
  State& state = graph.states[graph.add_state(op_definition("initialise"), one, "params", {"params", name})];
  state.trainable = true;
  return state.before;
}

// Four experts, two of them for each position.
Layer experts(TopKAttributes choice) {
  return [=](Graph& graph, const Linen& m, ValueId x, ValueId) {
    const ExpertLinearAttributes four{4, false};
    const ValueId logits = m.child("router").dense(x, "bse,ef->bsf", {width, 4}, {"embed", "experts"});
    const OpId choose = graph.add_op(op_definition("top_k"), "top_k", Phase::forward, {logits}, choice);
    const std::vector<ValueId> made = graph.ops[choose].outputs;
    const ValueId inner = append(graph, "expert_linear", {square_dense(m, x), made[0], kernels(graph, "up")}, four);
    const ValueId chosen = append(graph, "expert_linear", {m.gelu(inner), made[0], kernels(graph, "down")}, four);
    return append(graph, "weighted_sum", {chosen, made[1]});
  };
}

// The same by way of blocks: each row of the batch is one, experts are in two; a block of experts has room for `rows`.
Layer dispatched_experts(int64_t rows) {
  return [=](Graph& graph, const Linen& m, ValueId x, ValueId) {
    const DispatchAttributes blocks{4, 2, batch, 1, rows, false};
    const GroupedLinearAttributes forward{}, transposed{true, 1};
    const ValueId logits = m.child("router").dense(x, "bse,ef->bsf", {width, 4}, {"embed", "experts"});
    const OpId choose = graph.add_op(op_definition("top_k"), "top_k", Phase::forward, {logits}, TopKAttributes{.k = 2});
    const std::vector<ValueId> made = graph.ops[choose].outputs;
    const ValueId counts = append(graph, "expert_counts", {made[0]}, blocks);
    append(graph, "expert_load", {made[0]}, ExpertLoadAttributes{4});
    const ValueId sent = append(graph, "dispatch", {square_dense(m, x), made[0], counts}, blocks);
    const ValueId inner = append(graph, "grouped_linear", {sent, counts, kernels(graph, "up")}, forward);
    const ValueId given = append(graph, "grouped_linear", {m.gelu(inner), counts, kernels(graph, "down")}, transposed);
    const ValueId back = append(graph, "combine", {given, made[0], counts}, blocks);
    return append(graph, "weighted_sum", {back, made[1]});
  };
}

// A dense layer plus the sums of its rows' probabilities.
ValueId balanced(Graph& graph, const Linen& m, ValueId x, ValueId) {
  const ValueId logits = square_dense(m, x), sums = append(graph, "expert_probability", {logits});
  return append(graph, "add", {logits, sums}, EquationAttributes{Equation({"bse", "e"}, "bse")});
}

// Attention whose context depends on the logarithms of sums too.
ValueId attention_with_sinks(Graph& graph, const Linen& m, ValueId x, ValueId) {
  const InitialiseAttributes zero{InitialiseAttributes::Kind::constant, 0, {}, {{4}, DType::f32}};
  State& state = graph.states[graph.add_state(op_definition("initialise"), zero, "params", {"params", "sinks"})];
  state.trainable = true;
  const ValueId sinks = state.before;
  std::vector<ValueId> operands;
  for (const char* name : {"query", "key", "value"}) {
    operands.push_back(m.child(name).dense(x, "bse,ehd->bshd", {width, 4, 2}, {"embed", "heads", "kv"}));
  }
  const OpId attention =
      graph.add_op(op_definition("attention"), "attention", Phase::forward, operands, AttentionAttributes{true, {}});
  const std::vector<ValueId> made = graph.ops[attention].outputs;
  const ValueId context = append(graph, "attention_sink", {made[0], made[1], sinks});
  return m.child("out").dense(context, "bshd,hde->bse", {4, 2, width}, {"heads", "kv", "embed"});
}

ValueId relu(Graph& graph, const Linen& m, ValueId x, ValueId) { return append(graph, "relu", {square_dense(m, x)}); }

ValueId dense_layer(Graph&, const Linen& m, ValueId x, ValueId) { return square_dense(m, x); }

ValueId two_losses(Graph& graph, ValueId logits, ValueId labels) {
  const ValueId small = append(graph, "scale", {squared_error(graph, logits, labels)}, ScaleAttributes{0.3});
  const ValueId other = weighted_cross_entropy(graph, logits, labels);
  return append(graph, "add", {small, other}, sum_attributes(graph.type(small)));
}

std::vector<NamedNetwork> networks() {
  const AttentionAttributes plain{}, causal{true, {}}, dropping{true, {0.4, {key_from_seed(3), 1, 0, 5}}};
  AttentionAttributes window = causal, capped = plain, sloping = causal;
  window.window = 2;
  capped.soft_cap = 0.6;
  capped.scale = 1.5;
  sloping.slopes = {0.5f, 0.25f, 0.125f, 0.0625f};
  return {
      {"dense", 0, dense_layer},
      {"gelu", 0, [](Graph&, const Linen& m, ValueId x, ValueId) { return m.gelu(square_dense(m, x)); }},
      {"stack", 0, through_parts},
      {"relu", 0, relu},
      {"silu and multiply", 0, gated},
      {"gelu_exact", 0, behind_dense("gelu_exact")},
      {"soft_cap", 0, behind_dense("soft_cap", SoftCapAttributes{0.8})},
      {"clip", 0, behind_dense("clip", ClipBoundsAttributes{-0.4, 0.3})},
      {"split", 0, through_split},
      {"rotary", 0, rotated(false)},
      {"rotary, interleaved", 0, rotated(true)},
      {"experts", 0, experts({.k = 2})},
      {"experts, normalised", 0, experts({.k = 2, .normalise = true, .scale = 1.5})},
      {"experts by sigmoids", 0, experts({.score = TopKAttributes::Score::sigmoid, .k = 2, .normalise = true})},
      {"probabilities of experts", 0, balanced},
      {"dispatched experts", 0, dispatched_experts(2 * sequence)},
      {"dispatched experts, some dropped", 0, dispatched_experts(3)},
      {"ring attention", 0, ring_attention_layer},
      {"attention with sinks", 0, attention_with_sinks},
      {"attention in a window", 0, grouped_attention(2, false, window)},
      {"attention with a soft cap", 0, grouped_attention(4, false, capped)},
      {"attention with slopes", 0, grouped_attention(2, false, sloping)},
      {"rms_norm", 0, rms_norm},
      {"layer_norm", 0, [](Graph&, const Linen& m, ValueId x, ValueId) { return m.layer_norm(x); }},
      {"positions", 0,
       [](Graph&, const Linen& m, ValueId x, ValueId) { return m.add_positions(x, "pos_embedding", 0.02); }},
      {"residual", 0,
       [](Graph&, const Linen& m, ValueId x, ValueId) { return m.residual(m.child("Norm_0").layer_norm(x), x); }},
      {"attention", 0,
       [](Graph&, const Linen& m, ValueId x, ValueId tokens) { return m.self_attention(x, tokens, 2); }},
      {"attention without mask and bias", 0,
       [](Graph&, const Linen& m, ValueId x, ValueId) { return m.open_self_attention(x, 2); }},
      {"sinusoids", 0,
       [](Graph&, const Linen& m, ValueId x, ValueId) { return m.add_sinusoidal_positions(x, "pos_emb"); }},
      {"attention_dropout", 0.4,
       [](Graph&, const Linen& m, ValueId x, ValueId tokens) { return m.self_attention(x, tokens, 2); }},
      {"dropout", 0.4, [](Graph&, const Linen& m, ValueId x, ValueId) { return m.dropout(x, 0); }},
      {"attention of two key heads", 0, grouped_attention(2, false, plain)},
      {"attention of two key heads, masked", 0, grouped_attention(2, true, causal)},
      {"attention of two key heads, dropout", 0, grouped_attention(2, true, dropping)},
      {"attention of one key head", 0, grouped_attention(1, false, causal)},
      {"attention of one key head, masked", 0, grouped_attention(1, true, plain)},
      {"rearrange", 0, through_heads},
      {"convolution", 0, through_pictures},
      {"cast", 0, cast_to_itself},
      {"weighted cross-entropy", 0, no_layer, weighted_cross_entropy},
      {"next-token cross-entropy", 0, no_layer, next_token_cross_entropy},
      {"squared error", 0, no_layer, squared_error},
      {"sum of two losses", 0, no_layer, two_losses},
  };
}

// A network with random values in its states and inputs, by kernels and by the reference.
class Network {
 public:
  explicit Network(const Differentiated& made) : made_(made), kernels_(made.graph), reference_(made.graph) {
    std::mt19937 random(5);
    for (const State& state : graph().states) {
      fill_random(kernels_.array(state.before).f32(), element_count(graph().type(state.before).shape), random);
      copy_to_reference(state.before);
    }
    for (const auto& [name, input] : graph().inputs) {
      const TensorType& type = graph().type(input);
      if (is_float(type.dtype)) {
        fill_random(kernels_.array(input).f32(), element_count(type.shape), random);
      } else {
        // Token 0 is padding: some rows are fully masked.
        for (int64_t i = 0; i < element_count(type.shape); ++i) {
          kernels_.array(input).i32()[i] = static_cast<int32_t>(random() % vocabulary);
        }
      }
      copy_to_reference(input);
    }
  }

  double exact_loss() {
    reference_.run();
    return reference_.array(graph().outputs.at("loss")).values[0];
  }
  reference::Values& exact_values(const State& state) { return reference_.array(state.before).values; }
  const reference::Values& exact_gradient(const State& state) {
    return reference_.array(made_.cotangents[static_cast<size_t>(state.before)]).values;
  }

  // The gradients of all parameters by kernels, one behind the other.
  std::vector<float> gradients() {
    kernels_.run();
    std::vector<float> all;
    for (const State& state : graph().states) {
      const float* gradient = kernels_.array(made_.cotangents[static_cast<size_t>(state.before)]).f32();
      all.insert(all.end(), gradient, gradient + element_count(graph().type(state.before).shape));
    }
    return all;
  }

  // Fails the test where a value of the step, forward or backward, is not what the reference says. Sums may cancel
  // (gradients of attention's key biases do, wholly), so that their rounding is that of what is summed.
  void compare(double tolerance) {
    kernels_.run();
    reference_.run();
    for (const Op& op : graph().ops) {
      for (ValueId id : op.outputs) {
        double scale = scale_of(reference_.array(id));
        if (op.definition->name() == "reduce_sum") scale = std::max(scale, scale_of(reference_.array(op.inputs[0])));
        const double found = disagreement(kernels_.array(id), reference_.array(id), tolerance, scale);
        const std::string& name = graph().values[static_cast<size_t>(id)].name;
        QVERIFY2(found <= 1, qPrintable(QString("%1: %2").arg(QString::fromStdString(name)).arg(found)));
      }
    }
  }

 private:
  const Graph& graph() const { return made_.graph; }
  void copy_to_reference(ValueId id) { reference_.array(id) = in_doubles(kernels_.array(id), graph().type(id)); }

  const Differentiated& made_;
  WholeGraph kernels_;
  reference::WholeGraph reference_;
};

}  // namespace

class GradientTest : public QObject {
  Q_OBJECT

 private slots:
  // Law 4, of the gradients' definition: in double precision, along random directions, the gradient's prediction equals
  // the central difference of the loss.
  void gradient_is_the_slope_of_the_loss_data() {
    QTest::addColumn<int>("index");
    int index = 0;
    for (const NamedNetwork& named : networks()) QTest::newRow(named.name) << index++;
  }
  void gradient_is_the_slope_of_the_loss() {
    QFETCH(int, index);
    const Differentiated made = network(networks()[static_cast<size_t>(index)]);
    Network net(made);
    std::mt19937 random(17);
    for (const State& state : made.graph.states) {
      const reference::Values start = net.exact_values(state);
      for (int trial = 0; trial < 3; ++trial) {
        std::vector<float> drawn(static_cast<size_t>(start.size()));
        fill_random(drawn.data(), start.size(), random);
        const reference::Values direction = Eigen::Map<const Eigen::ArrayXf>(drawn.data(), start.size()).cast<double>();
        auto loss_at = [&](double t) {
          net.exact_values(state) = start + t * direction;
          return net.exact_loss();
        };
        constexpr double step = 1e-5;
        const double measured = (loss_at(step) - loss_at(-step)) / (2 * step);
        loss_at(0);
        const reference::Values& gradient = net.exact_gradient(state);
        const double predicted = (gradient * direction).sum();
        QVERIFY2(std::abs(measured - predicted) <= 1e-8 * gradient.abs().sum() + 1e-9,
                 qPrintable(QString("%1: slope %2, gradient says %3")
                                .arg(QString::fromStdString(made.graph.name(state)))
                                .arg(measured, 0, 'g', 12)
                                .arg(predicted, 0, 'g', 12)));
      }
    }
  }

  // Law 4, of the kernels: what they make of each value, forward and backward, is what the reference makes of it.
  void kernels_follow_the_reference_through_the_whole_step_data() { gradient_is_the_slope_of_the_loss_data(); }
  void kernels_follow_the_reference_through_the_whole_step() {
    QFETCH(int, index);
    const Differentiated made = network(networks()[static_cast<size_t>(index)]);
    Network(made).compare(2e-6);
  }

  // A difference in the last place may be rounded to a unit of bf16, and that be carried on.
  void kernels_follow_the_reference_through_a_step_that_rounds_to_bf16() {
    for (const NamedNetwork& named : {NamedNetwork{"cast", 0, through_bf16}, NamedNetwork{"ops in bf16", 0, in_bf16}}) {
      const Differentiated made = network(named);
      Network(made).compare(1e-2);
    }
  }

  // A rounded value is constant between two jumps, so its slope says nothing: the gradient is that of the value that
  // was rounded, as in JAX, itself rounded on its way.
  void rounding_to_bf16_passes_the_gradient_rounded() {
    const Differentiated rounded = network({"bf16", 0, through_bf16}), exact = network({"f32", 0, dense_layer});
    const std::vector<float> found = Network(rounded).gradients(), expected = Network(exact).gradients();
    QCOMPARE(found.size(), expected.size());
    float largest = 0;
    for (float value : expected) largest = std::max(largest, std::abs(value));
    QVERIFY(found != expected);
    for (size_t i = 0; i < found.size(); ++i) QVERIFY(std::abs(found[i] - expected[i]) < 0.01f * largest);
  }

  void the_cotangent_seed_scales_every_gradient_data() { gradient_is_the_slope_of_the_loss_data(); }
  void the_cotangent_seed_scales_every_gradient() {
    QFETCH(int, index);
    const NamedNetwork named = networks()[static_cast<size_t>(index)];
    const Differentiated one = network(named), four = network(named, 4);
    const std::vector<float> small = Network(one).gradients(), large = Network(four).gradients();
    for (size_t i = 0; i < small.size(); ++i) QCOMPARE(large[i], 4 * small[i]);  // a power of two: bit for bit
  }

  void every_differentiable_op_is_covered() {
    const std::vector<std::string_view> after_gradients{"sum_of_squares", "global_norm", "clip_by_global_norm"};
    std::set<std::string_view> covered;
    for (const NamedNetwork& named : networks()) {
      for (const Op& op : network(named).graph.ops) covered.insert(op.definition->name());
    }
    for (const OpDefinition* definition : all_op_definitions()) {
      const bool clips = std::ranges::find(after_gradients, definition->name()) != after_gradients.end();
      if (definition->must_be_in_place() || definition->accumulates() || clips) continue;  // come after differentiation
      QVERIFY2(covered.contains(definition->name()), std::string(definition->name()).c_str());
    }
  }
};

REGISTER_TEST(GradientTest)

}  // namespace gradient_test

#include "gradient_test.moc"
