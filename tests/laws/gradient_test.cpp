#include <QtTest>
#include <cmath>
#include <functional>
#include <set>

#include "engine/graph/autodiff.h"
#include "engine/ops/registry.h"
#include "models/linen.h"
#include "tests/laws/whole_graph.h"

using namespace shardscope;

namespace {

constexpr int64_t batch = 2, sequence = 5, vocabulary = 7, width = 8;

// Appends a layer under test to x (b, s, e).
using Layer = std::function<ValueId(const Linen&, ValueId x, ValueId tokens)>;

// tokens -> embedding -> layer -> projection -> mean cross-entropy, differentiated.
Graph network(const Layer& layer, double dropout_rate) {
  Graph graph;
  TensorType token_type{{batch, sequence}, DType::i32};
  ValueId tokens = graph.inputs["tokens"] = graph.add_source("tokens", token_type, ValueKind::input);
  ValueId labels = graph.inputs["labels"] = graph.add_source("labels", token_type, ValueKind::input);
  Linen model(graph, {dropout_rate, 3});
  ValueId x = model.child("Embed_0").embed(tokens, vocabulary, width);
  x = layer(model.child("Layer_0"), x, tokens);
  ValueId logits = model.child("Dense_0").dense(x, "bse,ev->bsv", {width, vocabulary});
  OpId loss = graph.add_op(op_definition("cross_entropy"), "loss", Phase::forward, {logits, labels},
                           {{"scale", 1.0 / (batch * sequence)}});
  graph.outputs["loss"] = graph.ops[loss].outputs[0];
  differentiate(graph, graph.outputs["loss"], op_definition("add"));
  verify(graph);
  return graph;
}

struct NamedLayer {
  const char* name;
  double dropout_rate;
  Layer layer;
};

std::vector<NamedLayer> layers() {
  return {
      {"dense", 0,
       [](const Linen& m, ValueId x, ValueId) {
         return m.dense(x, "bse,ef->bsf", {width, width});
       }},
      {"gelu", 0,
       [](const Linen& m, ValueId x, ValueId) {
         return m.gelu(m.dense(x, "bse,ef->bsf", {width, width}));
       }},
      {"layer_norm", 0, [](const Linen& m, ValueId x, ValueId) { return m.layer_norm(x); }},
      {"positions", 0, [](const Linen& m, ValueId x, ValueId) { return m.add_positions(x, "pos_embedding", 0.02); }},
      {"residual", 0,
       [](const Linen& m, ValueId x, ValueId) { return m.residual(m.child("Norm_0").layer_norm(x), x); }},
      {"attention", 0, [](const Linen& m, ValueId x, ValueId tokens) { return m.self_attention(x, tokens, 2); }},
      {"attention_dropout", 0.4,
       [](const Linen& m, ValueId x, ValueId tokens) { return m.self_attention(x, tokens, 2); }},
      {"dropout", 0.4, [](const Linen& m, ValueId x, ValueId) { return m.dropout(x, 0); }},
  };
}

class Network {
 public:
  explicit Network(const Graph& graph) : graph_(graph), whole_(graph) {
    std::mt19937 random(5);
    for (const Parameter& parameter : graph.parameters) {
      fill_random(whole_.array(parameter.value).f32(), count(parameter), random);
    }
    for (const char* input : {"tokens", "labels"}) {
      for (int64_t i = 0; i < batch * sequence; ++i) {
        // Token 0 is padding: some rows are fully masked.
        whole_.array(graph.inputs.at(input)).i32()[i] = static_cast<int32_t>(random() % vocabulary);
      }
    }
  }

  double loss() {
    whole_.run();
    return whole_.array(graph_.outputs.at("loss")).f32()[0];
  }
  float* values(const Parameter& parameter) { return whole_.array(parameter.value).f32(); }
  float* gradient(const Parameter& parameter) { return whole_.array(parameter.gradient).f32(); }
  int64_t count(const Parameter& parameter) const { return element_count(graph_.type(parameter.value).shape); }

 private:
  const Graph& graph_;
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
    for (const NamedLayer& layer : layers()) QTest::newRow(layer.name) << index++;
  }
  void gradient_is_the_slope_of_the_loss() {
    QFETCH(int, index);
    NamedLayer layer = layers()[static_cast<size_t>(index)];
    Graph graph = network(layer.layer, layer.dropout_rate);
    Network net(graph);
    std::mt19937 random(17);
    for (const Parameter& parameter : graph.parameters) {
      int64_t count = net.count(parameter);
      std::vector<float> start(net.values(parameter), net.values(parameter) + count), direction(start.size());
      for (int trial = 0; trial < 3; ++trial) {
        fill_random(direction.data(), count, random);
        net.loss();
        double predicted = 0, size = 0;
        for (int64_t i = 0; i < count; ++i) {
          predicted += static_cast<double>(net.gradient(parameter)[i]) * direction[static_cast<size_t>(i)];
          size += std::abs(static_cast<double>(net.gradient(parameter)[i]));
        }
        auto loss_at = [&](float t) {
          for (int64_t i = 0; i < count; ++i)
            net.values(parameter)[i] = start[static_cast<size_t>(i)] + t * direction[static_cast<size_t>(i)];
          return net.loss();
        };
        constexpr float step = 4e-3f;
        double measured =
            (8 * (loss_at(step) - loss_at(-step)) - (loss_at(2 * step) - loss_at(-2 * step))) / (12 * step);
        loss_at(0);
        double tolerance = 1e-2 * std::abs(predicted) + 1e-3 * size + 2e-4;
        QVERIFY2(std::abs(measured - predicted) <= tolerance,
                 qPrintable(QString("%1: slope %2, gradient says %3")
                                .arg(QString::fromStdString(graph.values[static_cast<size_t>(parameter.value)].name))
                                .arg(measured)
                                .arg(predicted)));
      }
    }
  }

  void every_differentiable_op_is_covered() {
    std::set<std::string_view> covered;
    for (const NamedLayer& layer : layers()) {
      for (const Op& op : network(layer.layer, layer.dropout_rate).ops) covered.insert(op.definition->name());
    }
    for (const OpDefinition* definition : all_op_definitions()) {
      if (definition->must_be_in_place()) continue;  // updates have no gradient
      QVERIFY2(covered.contains(definition->name()), std::string(definition->name()).c_str());
    }
  }
};

QTEST_APPLESS_MAIN(GradientTest)
#include "gradient_test.moc"
