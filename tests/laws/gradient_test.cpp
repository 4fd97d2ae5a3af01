#include <QtTest>
#include <cmath>
#include <set>

#include "engine/graph/autodiff.h"
#include "engine/ops/cast.h"
#include "engine/ops/constant.h"
#include "engine/ops/dropout.h"
#include "engine/ops/equation.h"
#include "engine/ops/registry.h"
#include "engine/ops/scale.h"
#include "models/linen.h"
#include "tests/laws/agreement.h"
#include "tests/ops/op_cases.h"
#include "tests/test_program.h"

namespace gradient_test {

using namespace shardscope;
using namespace shardscope::test;

namespace {

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

ValueId through_bf16(Graph& graph, const Linen& m, ValueId x, ValueId) {
  const ValueId rounded = append(graph, "cast", {square_dense(m, x)}, CastAttributes{DType::bf16});
  return append(graph, "cast", {rounded}, CastAttributes{DType::f32});
}

// Ops in bf16, and so their gradients.
ValueId in_bf16(Graph& graph, const Linen& m, ValueId x, ValueId) {
  const CastAttributes down{DType::bf16}, up{DType::f32};
  const ValueId kernel = parameter(graph, "kernel", {width, 2, 4});
  x = append(graph, "cast", {x}, down);
  x = append(graph, "einsum", {x, append(graph, "cast", {kernel}, down)}, EquationAttributes{"bse,ehd->bshd"});
  x = append(graph, "rearrange", {x}, EquationAttributes{"bshd->bs(hd)"});
  x = append(graph, "add", {x, append(graph, "gelu", {append(graph, "scale", {x}, ScaleAttributes{0.7})})},
             sum_attributes(graph.type(x)));
  x = append(graph, "relu", {x});
  x = append(graph, "dropout", {x}, DropoutAttributes{0.4, {key_from_seed(3), 1, 0, 5}});
  return m.child("Dense_0").dense(append(graph, "cast", {x}, up), "bse,ef->bsf", {width, width}, {"embed", "mlp"});
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
