#include <QtTest>
#include <cmath>
#include <functional>
#include <set>

#include "engine/graph/autodiff.h"
#include "engine/ops/attention.h"
#include "engine/ops/cast.h"
#include "engine/ops/constant.h"
#include "engine/ops/registry.h"
#include "engine/ops/scale.h"
#include "models/linen.h"
#include "models/losses.h"
#include "tests/laws/whole_graph.h"

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

// Of a value's own type: the identity.
ValueId cast_to_itself(Graph& graph, const Linen& m, ValueId x, ValueId) {
  return append(graph, "cast", {square_dense(m, x)}, CastAttributes{DType::f32});
}

ValueId through_bf16(Graph& graph, const Linen& m, ValueId x, ValueId) {
  const ValueId rounded = append(graph, "cast", {square_dense(m, x)}, CastAttributes{DType::bf16});
  return append(graph, "cast", {rounded}, CastAttributes{DType::f32});
}

ValueId dense_layer(Graph&, const Linen& m, ValueId x, ValueId) { return square_dense(m, x); }

ValueId two_losses(Graph& graph, ValueId logits, ValueId labels) {
  const ValueId small = append(graph, "scale", {squared_error(graph, logits, labels)}, ScaleAttributes{0.3});
  const ValueId other = weighted_cross_entropy(graph, logits, labels);
  return append(graph, "add", {small, other}, sum_attributes(graph.type(small)));
}

std::vector<NamedNetwork> networks() {
  const AttentionAttributes plain{}, causal{true, {}}, dropping{true, {0.4, {key_from_seed(3), 1, 0, 5}}};
  return {
      {"dense", 0, dense_layer},
      {"gelu", 0, [](Graph&, const Linen& m, ValueId x, ValueId) { return m.gelu(square_dense(m, x)); }},
      {"layer_norm", 0, [](Graph&, const Linen& m, ValueId x, ValueId) { return m.layer_norm(x); }},
      {"positions", 0,
       [](Graph&, const Linen& m, ValueId x, ValueId) { return m.add_positions(x, "pos_embedding", 0.02); }},
      {"residual", 0,
       [](Graph&, const Linen& m, ValueId x, ValueId) { return m.residual(m.child("Norm_0").layer_norm(x), x); }},
      {"attention", 0,
       [](Graph&, const Linen& m, ValueId x, ValueId tokens) { return m.self_attention(x, tokens, 2); }},
      {"attention_dropout", 0.4,
       [](Graph&, const Linen& m, ValueId x, ValueId tokens) { return m.self_attention(x, tokens, 2); }},
      {"dropout", 0.4, [](Graph&, const Linen& m, ValueId x, ValueId) { return m.dropout(x, 0); }},
      {"attention of two key heads", 0, grouped_attention(2, false, plain)},
      {"attention of two key heads, masked", 0, grouped_attention(2, true, causal)},
      {"attention of two key heads, dropout", 0, grouped_attention(2, true, dropping)},
      {"attention of one key head", 0, grouped_attention(1, false, causal)},
      {"attention of one key head, masked", 0, grouped_attention(1, true, plain)},
      {"rearrange", 0, through_heads},
      {"cast", 0, cast_to_itself},
      {"weighted cross-entropy", 0, no_layer, weighted_cross_entropy},
      {"squared error", 0, no_layer, squared_error},
      {"sum of two losses", 0, no_layer, two_losses},
  };
}

bool has_kernels(const Graph& graph) {
  for (const Op& op : graph.ops) {
    if (!has_kernel(op.definition->name())) return false;
  }
  return true;
}

class Network {
 public:
  explicit Network(const Differentiated& made) : made_(made), whole_(made.graph) {
    std::mt19937 random(5);
    for (const State& state : graph().states) fill_random(values(state), count(state), random);
    for (const auto& [name, input] : graph().inputs) {
      TestArray& array = whole_.array(input);
      const TensorType& type = graph().type(input);
      if (is_float(type.dtype)) {
        fill_random(array.f32(), element_count(type.shape), random);
        continue;
      }
      // Token 0 is padding: some rows are fully masked.
      for (int64_t i = 0; i < element_count(type.shape); ++i) {
        array.i32()[i] = static_cast<int32_t>(random() % vocabulary);
      }
    }
  }

  double loss() {
    whole_.run();
    return whole_.array(graph().outputs.at("loss")).f32()[0];
  }
  float* values(const State& state) { return whole_.array(state.before).f32(); }
  float* gradient(const State& state) {
    return whole_.array(made_.cotangents[static_cast<size_t>(state.before)]).f32();
  }
  int64_t count(const State& state) const { return element_count(graph().type(state.before).shape); }
  // The gradients of all parameters, one behind the other.
  std::vector<float> gradients() {
    loss();
    std::vector<float> all;
    for (const State& state : graph().states) all.insert(all.end(), gradient(state), gradient(state) + count(state));
    return all;
  }

 private:
  const Graph& graph() const { return made_.graph; }

  const Differentiated& made_;
  WholeGraph whole_;
};

}  // namespace

class GradientTest : public QObject {
  Q_OBJECT

 private slots:
  // Law 4: along random directions, the gradient's prediction equals the central difference of the loss.
  void gradient_is_the_slope_of_the_loss_data() {
    QTest::addColumn<int>("index");
    int index = 0;
    for (const NamedNetwork& named : networks()) QTest::newRow(named.name) << index++;
  }
  void gradient_is_the_slope_of_the_loss() {
    QFETCH(int, index);
    const Differentiated made = network(networks()[static_cast<size_t>(index)]);
    if (!has_kernels(made.graph)) QSKIP("an op has no kernel, which runtime/kernel_elementwise tells");
    Network net(made);
    std::mt19937 random(17);
    for (const State& state : made.graph.states) {
      int64_t count = net.count(state);
      std::vector<float> start(net.values(state), net.values(state) + count), direction(start.size());
      for (int trial = 0; trial < 3; ++trial) {
        fill_random(direction.data(), count, random);
        net.loss();
        double predicted = 0, size = 0;
        for (int64_t i = 0; i < count; ++i) {
          predicted += static_cast<double>(net.gradient(state)[i]) * direction[static_cast<size_t>(i)];
          size += std::abs(static_cast<double>(net.gradient(state)[i]));
        }
        auto loss_at = [&](float t) {
          for (int64_t i = 0; i < count; ++i)
            net.values(state)[i] = start[static_cast<size_t>(i)] + t * direction[static_cast<size_t>(i)];
          return net.loss();
        };
        constexpr float step = 4e-3f;
        double measured =
            (8 * (loss_at(step) - loss_at(-step)) - (loss_at(2 * step) - loss_at(-2 * step))) / (12 * step);
        loss_at(0);
        double tolerance = 1e-2 * std::abs(predicted) + 1e-3 * size + 2e-4;
        QVERIFY2(std::abs(measured - predicted) <= tolerance,
                 qPrintable(QString("%1: slope %2, gradient says %3")
                                .arg(QString::fromStdString(made.graph.name(state)))
                                .arg(measured)
                                .arg(predicted)));
      }
    }
  }

  // A rounded value is constant between two jumps, so its slope says nothing: the gradient is that of the value that
  // was rounded, as in JAX, itself rounded on its way.
  void rounding_to_bf16_passes_the_gradient_rounded() {
    const Differentiated rounded = network({"bf16", 0, through_bf16}), exact = network({"f32", 0, dense_layer});
    if (!has_kernels(rounded.graph)) QSKIP("an op has no kernel, which runtime/kernel_elementwise tells");
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
    if (!has_kernels(one.graph)) QSKIP("an op has no kernel, which runtime/kernel_elementwise tells");
    const std::vector<float> small = Network(one).gradients(), large = Network(four).gradients();
    for (size_t i = 0; i < small.size(); ++i) QCOMPARE(large[i], 4 * small[i]);  // a power of two: bit for bit
  }

  void every_differentiable_op_is_covered() {
    std::set<std::string_view> covered;
    for (const NamedNetwork& named : networks()) {
      for (const Op& op : network(named).graph.ops) covered.insert(op.definition->name());
    }
    for (const OpDefinition* definition : all_op_definitions()) {
      if (definition->must_be_in_place()) continue;  // updates have no gradient
      QVERIFY2(covered.contains(definition->name()), std::string(definition->name()).c_str());
    }
  }
};

QTEST_APPLESS_MAIN(GradientTest)
#include "gradient_test.moc"
