#include <QTemporaryDir>
#include <QtTest>
#include <cmath>
#include <fstream>
#include <set>

#include "engine/checkpoint/exported_array.h"
#include "engine/checkpoint/safetensors.h"
#include "engine/compile/compile.h"
#include "engine/compile/training_graph.h"
#include "engine/graph/autodiff.h"
#include "engine/machine/host_machine.h"
#include "engine/ops/constant.h"
#include "engine/ops/equation.h"
#include "engine/ops/registry.h"
#include "tests/laws/training_agreement.h"
#include "tests/laws/whole_graph.h"
#include "tests/parity/decoder_run.h"
#include "tests/parity/golden_file.h"
#include "tests/parity/hashed_weights.h"
#include "tests/test_program.h"

namespace transformers_decoders_test {

using namespace shardscope;
using namespace shardscope::test;

namespace {

QJsonArray golden() { return golden_file("transformers_decoders").array(); }

// A folder of the case's config, and a run file that trains it on `data` x `model` devices.
class Folder {
 public:
  explicit Folder(const QJsonObject& one) : case_(one) {
    QFile file(folder_.filePath("config.json"));
    if (!file.open(QIODevice::WriteOnly)) qFatal("no config.json");
    file.write(QJsonDocument(one["config"].toObject()).toJson());
  }

  RunConfig run(int64_t data = 1, int64_t model = 1) const {
    RunConfig config = decoder_run(folder_.path().toStdString(), case_["tokens"].toArray(), data, model);
    config.steps = 10;
    return config;
  }

  // Weights of every parameter of the run, as one file, of the shapes that transformers has.
  void write_weights() const {
    CheckpointIndex index;
    std::vector<NamedArray> arrays;
    std::set<std::string> buffers;  // of zeros
    const ForwardGraph forward = build_forward(run());
    for (const State& state : forward.graph->states) {
      index.states.push_back({forward.graph->name(state), forward.graph->type(state.before), false, {}});
      if (!state.trainable) buffers.insert(array_name(forward.graph->name(state)));
    }
    const ModelExport how{.in_out = case_["config"]["model_type"] == "gpt2"};
    for (const ExportedArray& array : exported_arrays(index, how)) arrays.push_back({array.name, array.type});
    const SafetensorsLayout layout(arrays);
    std::ofstream file(folder_.filePath("model.safetensors").toStdString(), std::ios::binary);
    file << layout.header();
    for (const NamedArray& array : layout.arrays()) {
      std::vector<float> values = weight_values(array.name, array.type.shape);
      if (buffers.contains(array.name)) std::ranges::fill(values, 0.0f);
      file.write(reinterpret_cast<const char*>(values.data()), static_cast<std::streamsize>(values.size() * 4));
    }
  }

 private:
  QJsonObject case_;
  QTemporaryDir folder_;
};

void fill_tokens(WholeGraph& kernels, const Graph& graph, const QJsonObject& one) {
  for (const auto& [name, input] : graph.inputs) {
    int32_t* to = kernels.array(input).i32();
    for (const QJsonValue& row : one[QString::fromStdString(name)].toArray()) {
      for (const QJsonValue& token : row.toArray()) *to++ = token.toInt();
    }
  }
}

}  // namespace

class TransformersDecodersTest : public QObject {
  Q_OBJECT

 private slots:
  void every_family_has_three_cases() {
    QMap<QString, int> cases;
    for (const QJsonValue& one : golden()) ++cases[one["config"]["model_type"].toString()];
    QVERIFY(cases.size() >= 11);
    for (int count : cases) QVERIFY(count >= 3);
  }

  void logits_and_gradients_are_those_of_transformers_data() { rows(); }
  void logits_and_gradients_are_those_of_transformers() {
    QFETCH(int, index);
    const QJsonObject one = golden()[index].toObject();
    const Folder folder(one);
    ForwardGraph forward = build_forward(folder.run());
    QVERIFY2(forward.run.errors.empty(), forward.run.errors.empty() ? "" : to_string(forward.run.errors[0]).c_str());
    Graph& graph = *forward.graph;
    const ValueId loss = graph.outputs.at("loss");
    const OpId scale = graph.add_op(op_definition("constant"), "loss/scale", Phase::backward, {},
                                    ConstantAttributes{1, graph.type(loss)});
    const CotangentSeed seed{loss, graph.ops[scale].outputs[0]};
    differentiate(graph, {&seed, 1}, op_definition("add"), sum_attributes);
    WholeGraph kernels(graph);
    int64_t parameters = 0, trained = 0;
    for (const State& state : graph.states) {
      if (!state.trainable) continue;  // a buffer of zeros
      ++trained;
      const std::vector<float> values = weight_values(array_name(graph.name(state)), graph.type(state.before).shape);
      std::ranges::copy(values, kernels.array(state.before).f32());
      parameters += static_cast<int64_t>(values.size());
    }
    QCOMPARE(parameters, int64_t{one["parameters"].toInt()});
    fill_tokens(kernels, graph, one);
    kernels.run();

    const QJsonArray logits = one["logits"].toArray();
    const ValueId made = graph.outputs.at("logits");
    QCOMPARE(element_count(graph.type(made).shape), int64_t{logits.size()});
    double largest = 0;
    for (qsizetype i = 0; i < logits.size(); ++i) {
      largest = std::max(largest, std::abs(kernels.array(made).f32()[i] - logits[i].toDouble()));
    }
    QVERIFY2(largest <= 1e-5, qPrintable(QString("logits are off by %1").arg(largest)));

    const QJsonObject gradients = one["gradients"].toObject();
    QCOMPARE(int64_t{gradients.size()}, trained);
    for (const State& state : graph.states) {
      if (!state.trainable) continue;
      const std::string name = array_name(graph.name(state));
      const QJsonArray expected = gradients[QString::fromStdString(name)].toArray();
      QVERIFY2(!expected.isEmpty(), name.c_str());
      const auto count = static_cast<size_t>(element_count(graph.type(state.gradient).shape));
      const std::span<const float> gradient(kernels.array(state.gradient).f32(), count);
      const double wanted = expected[0].toDouble(), room = 1e-4 * wanted + 1e-7;
      double squares = 0;
      for (float value : gradient) squares += static_cast<double>(value) * value;
      QVERIFY2(std::abs(std::sqrt(squares) - wanted) <= room,
               qPrintable(QString("%1: norm %2 instead of %3").arg(name.c_str()).arg(std::sqrt(squares)).arg(wanted)));
      for (int i = 1; i < expected.size(); ++i) {
        const double apart = std::abs(projected(name, i - 1, gradient) - expected[i].toDouble());
        QVERIFY2(apart <= room, qPrintable(QString("%1: off by %2 of %3").arg(name.c_str()).arg(apart).arg(wanted)));
      }
    }
  }

  // From weights in a safetensors file, on one device and split over data and tensors.
  void ten_steps_from_weights_on_disk_have_the_losses_of_transformers_data() { rows(); }
  void ten_steps_from_weights_on_disk_have_the_losses_of_transformers() {
    QFETCH(int, index);
    const QJsonObject one = golden()[index].toObject();
    const Folder folder(one);
    folder.write_weights();
    const QJsonArray losses = one["losses"].toArray();
    for (const auto& [data, model] : {std::pair{1, 1}, std::pair{2, 1}, std::pair{1, 2}, std::pair{2, 2}}) {
      const Plan plan = compile({folder.run(data, model), reference_host()});
      const ThreadTraining training = train_in_threads(plan, losses.size());
      QCOMPARE(int64_t{std::ssize(training.steps)}, int64_t{losses.size()});
      for (qsizetype step = 0; step < losses.size(); ++step) {
        const double loss = value_of(training.steps[static_cast<size_t>(step)].metrics, "loss");
        QVERIFY2(std::abs(loss - losses[step].toDouble()) <= 1e-5 * losses[step].toDouble(),
                 qPrintable(QString("%1x%2, step %3: loss %4 instead of %5")
                                .arg(data)
                                .arg(model)
                                .arg(step)
                                .arg(loss, 0, 'g', 9)
                                .arg(losses[step].toDouble(), 0, 'g', 9)));
      }
    }
  }

 private:
  static void rows() {
    QTest::addColumn<int>("index");
    const QJsonArray cases = golden();
    for (int i = 0; i < cases.size(); ++i) QTest::newRow(qPrintable(cases[i]["name"].toString())) << i;
  }
};

REGISTER_TEST(TransformersDecodersTest)

}  // namespace transformers_decoders_test

#include "transformers_decoders_test.moc"
