#include <QTemporaryDir>
#include <QtTest>
#include <cmath>
#include <fstream>

#include "engine/checkpoint/exported_array.h"
#include "engine/checkpoint/joined_dimension.h"
#include "engine/checkpoint/safetensors.h"
#include "engine/compile/compile.h"
#include "engine/compile/training_graph.h"
#include "engine/machine/host_machine.h"
#include "engine/mesh/box_runs.h"
#include "tests/laws/training_agreement.h"
#include "tests/parity/decoder_run.h"
#include "tests/parity/golden_training.h"
#include "tests/parity/hashed_weights.h"
#include "tests/test_program.h"

namespace fine_tuning_test {

using namespace shardscope;
using namespace shardscope::test;

namespace {

QJsonArray golden() { return golden_file("fine_tuning").array(); }

QJsonObject decoder_of(const QJsonValue& one) {
  for (const QJsonValue& decoder : golden_file("transformers_decoders").array()) {
    if (decoder["name"] == one["case"]) return decoder.toObject();
  }
  return {};
}

TextList texts(const QJsonValue& list) {
  TextList result;
  for (const QJsonValue& text : list.toArray()) result.push_back(text.toString().toStdString());
  return result;
}

// A folder of a case's config, and of its weights as published files of its family have them.
class Folder {
 public:
  explicit Folder(const QJsonValue& one) : case_(one), decoder_(decoder_of(one)) {
    std::ofstream(path("config.json")) << QJsonDocument(decoder_["config"].toObject()).toJson().toStdString();
    write_weights();
  }

  RunConfig run(int64_t data, int64_t model) const {
    RunConfig config = decoder_run(folder_.path().toStdString(), decoder_["tokens"].toArray(), data, model);
    OptionList& options = config.model.options;
    if (case_["patterns"].isArray()) options.emplace_back("frozen", texts(case_["patterns"]));
    if (case_["lora"].isObject()) {
      options.emplace_back("lora.rank", int64_t{case_["lora"]["rank"].toInt()});
      options.emplace_back("lora.alpha", case_["lora"]["alpha"].toDouble());
      options.emplace_back("lora.targets", texts(case_["lora"]["targets"]));
    }
    return config;
  }

 private:
  std::string path(const char* name) const { return folder_.filePath(name).toStdString(); }

  ModelExport published() const {
    const QString family = decoder_["config"]["model_type"].toString();
    ModelExport how;
    how.experts = family == "mixtral"   ? ExpertArrays::mixtral
                  : family == "gpt_oss" ? ExpertArrays::joined
                                        : ExpertArrays::by_expert;
    how.in_out = family == "gpt2";
    return how;
  }

  void write_weights() {
    const ForwardGraph forward = build_forward(run(1, 1));
    if (!forward.graph) throw Failure(forward.run.errors);
    CheckpointIndex index;
    for (const State& state : forward.graph->states) {
      if (!state.path[state.path.size() - 2].starts_with("lora_"))
        index.states.push_back({forward.graph->name(state), forward.graph->type(state.before), false, {}});
    }
    std::vector<ExportedArray> arrays = exported_arrays(index, published());
    std::vector<NamedArray> named;
    for (const ExportedArray& array : arrays) named.push_back({array.name, array.type});
    for (const State& state : forward.graph->states) {
      if (!state.path[state.path.size() - 2].starts_with("lora_")) continue;
      TensorType type = forward.graph->type(state.before);
      if (type.shape.size() == 3) type.shape = with_joined(type.shape, 0);
      named.push_back({array_name(forward.graph->name(state)), type});
    }
    const SafetensorsLayout layout(named);
    std::ofstream file(path("model.safetensors"), std::ios::binary);
    file << layout.header();
    for (size_t i = 0; i < named.size(); ++i) {
      const std::string name = i < arrays.size() ? array_name(arrays[i].state->name) : named[i].name;
      const Shape shape = i < arrays.size() ? arrays[i].state->type.shape : named[i].type.shape;
      std::vector<float> values = weight_values(name, shape);
      if (name.ends_with("e_score_correction_bias")) std::ranges::fill(values, 0.0f);
      if (i >= arrays.size()) {
        file.write(reinterpret_cast<const char*>(values.data()), static_cast<std::streamsize>(values.size() * 4));
        continue;
      }
      const BoxRuns runs(shape, arrays[i].part);
      runs.for_each([&](int64_t from, int64_t) {
        file.write(reinterpret_cast<const char*>(values.data() + from),
                   static_cast<std::streamsize>(runs.run_length() * 4));
      });
    }
  }

  QJsonValue case_;
  QJsonObject decoder_;
  QTemporaryDir folder_;
};

}  // namespace

// Fine-tuning from files as they are published: of all parameters, of some, and of adapters.
class FineTuningTest : public QObject {
  Q_OBJECT

 private slots:
  // Each layer of every family, its queries and values: no other part of a model is called as these are.
  void without_targets_attention_has_adapters() {
    for (const QJsonValue& decoder : golden_file("transformers_decoders").array()) {
      const QTemporaryDir folder;
      std::ofstream(folder.filePath("config.json").toStdString())
          << QJsonDocument(decoder["config"].toObject()).toJson().toStdString();
      RunConfig run = decoder_run(folder.path().toStdString(), decoder["tokens"].toArray(), 1, 1);
      run.model.options.emplace_back("lora.rank", int64_t{2});
      const ForwardGraph forward = build_forward(run);
      QVERIFY2(forward.graph, qPrintable(decoder["name"].toString()));
      std::set<std::string> layers, adapted;
      for (const State& state : forward.graph->states) {
        const std::string name = forward.graph->name(state);
        const size_t attention = std::min(name.find("attn"), name.find("attention/"));
        if (attention == std::string::npos) {
          QVERIFY2(!state.trainable, name.c_str());
          continue;
        }
        layers.insert(name.substr(0, attention));
        if (state.trainable) adapted.insert(name.substr(0, attention));
      }
      QVERIFY2(!layers.empty() && adapted == layers, qPrintable(decoder["name"].toString()));
    }
  }
  void twenty_steps_have_the_losses_of_transformers_data() {
    QTest::addColumn<int>("index");
    const QJsonArray cases = golden();
    for (qsizetype i = 0; i < cases.size(); ++i) {
      const QString kind = cases[i]["lora"].isObject() ? "adapters" : cases[i]["frozen"].isString() ? "frozen" : "all";
      QTest::newRow(qPrintable(cases[i]["case"].toString() + " " + kind)) << static_cast<int>(i);
    }
  }
  void twenty_steps_have_the_losses_of_transformers() {
    QFETCH(int, index);
    const QJsonValue one = golden()[index];
    const Folder folder(one);
    const QJsonArray losses = one["losses"].toArray();
    const QJsonObject norms = one["norms"].toObject();
    for (const auto& [data, model] : {std::pair{1, 1}, std::pair{2, 1}, std::pair{1, 2}, std::pair{2, 2}}) {
      const Plan plan = compile({folder.run(data, model), reference_host()});
      const ThreadTraining training = train_in_threads(plan, losses.size());
      compare_losses(training, losses, {5e-5});  // rounding grows with the steps
      compare_with_prediction(training, plan);
      QVERIFY(training.replicas_equal);
      qsizetype trained = 0;
      for (const ParameterPlan& parameter : plan.parameters) {
        const std::string name = plan.graph->name(plan.graph->states[parameter.state]);
        const QJsonValue norm = norms[QString::fromStdString(array_name(name))];
        QCOMPARE(parameter.state_names.empty(), norm.isUndefined());  // what is frozen has no moments
        if (norm.isUndefined()) continue;
        ++trained;
        if (name.ends_with("c_attn/bias")) continue;  // of keys the gradient is zero but for rounding
        compare_norm(name, training.parameters.at(name), norm.toDouble(), {1e-4});
      }
      QCOMPARE(trained, norms.size());
    }
  }

  // No gradient, no moments: what is left is the weights, and what belongs to adapters.
  void adapters_take_the_memory_that_they_have() {
    for (const QJsonValue& one : golden()) {
      if (!one["lora"].isObject()) continue;
      const Plan plan = compile({Folder(one).run(1, 1), reference_host()});
      int64_t adapters = 0;
      for (const ParameterPlan& parameter : plan.parameters) {
        if (!parameter.state_names.empty()) adapters += element_count(parameter.shape);
      }
      int64_t kept = 0;
      for (const State& state : plan.graph->states) {
        QCOMPARE(state.gradient != no_id, state.trainable);
        if (state.is_of_optimizer()) kept += element_count(plan.graph->type(state.before).shape);
      }
      QCOMPARE(kept, 2 * adapters);
    }
  }
};

REGISTER_TEST(FineTuningTest)

}  // namespace fine_tuning_test

#include "fine_tuning_test.moc"
