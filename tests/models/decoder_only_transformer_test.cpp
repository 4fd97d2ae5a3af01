#include "models/decoder_only_transformer.h"

#include <QFile>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QTest>
#include <algorithm>
#include <map>

#include "engine/base/error.h"
#include "engine/base/path.h"
#include "engine/graph/autodiff.h"
#include "engine/ops/attention.h"
#include "engine/ops/equation.h"
#include "engine/ops/initialise.h"
#include "engine/ops/registry.h"
#include "tests/test_program.h"

namespace decoder_only_transformer_test {

using namespace shardscope;

namespace {

OptionList document_options() {
  return {{"vocab_size", int64_t{1024}},        {"seq_len", int64_t{128}}, {"embed_dim", int64_t{512}},
          {"num_layers", int64_t{2}},           {"num_heads", int64_t{8}}, {"dropout_rate", 0.1},
          {"compute_dtype", std::string("f32")}};
}

Graph build(bool deterministic, const OptionList& options = document_options()) {
  return find_model("decoder_only_transformer")->build(options, {64, deterministic, 0});
}

size_t count(const Graph& graph, const std::string& op) {
  return static_cast<size_t>(
      std::count_if(graph.ops.begin(), graph.ops.end(), [&](const Op& one) { return one.definition->name() == op; }));
}

}  // namespace

class DecoderOnlyTransformerTest : public QObject {
  Q_OBJECT

 private slots:
  void the_parameter_tree_is_flaxs() {
    QFile file(SHARDSCOPE_SOURCE_DIR "/tests/golden/parallax_decoder.json");
    QVERIFY(file.open(QIODevice::ReadOnly));
    const QJsonObject initial = QJsonDocument::fromJson(file.readAll()).object()["initial"].toObject();
    const Graph graph = build(true);
    QVERIFY(initial.size() > 30);
    QCOMPARE(static_cast<qsizetype>(graph.states.size()), initial.size());
    for (const State& state : graph.states) {
      const QString name = QString::fromStdString(join_path(state.path));
      QVERIFY2(initial.contains(name), qPrintable(name));
      Shape shape;
      for (const QJsonValue& size : initial[name]["shape"].toArray()) shape.push_back(size.toInteger());
      QVERIFY2(graph.type(state.before) == (TensorType{shape, DType::f32}), qPrintable(name));
      QCOMPARE(graph.name(state), join_path(state.path));
      QCOMPARE(state.collection, std::string("params"));
      QVERIFY(state.trainable && state.after == no_id && state.follows == no_id);
    }
  }

  void parameters_stand_in_the_order_in_which_they_are_used_first() {
    const Graph graph = build(true);
    std::vector<ValueId> used;
    for (const Op& op : graph.ops) {
      for (ValueId input : op.inputs) {
        if (graph.values[input].kind == ValueKind::state) used.push_back(input);
      }
    }
    std::vector<ValueId> made;
    for (const State& state : graph.states) made.push_back(state.before);
    QVERIFY(used == made);
  }

  // flax.linen's conventions: PRNGKey(seed) folded with the module's path and the parameter's number in it.
  void parameters_have_linens_keys_and_activations_their_logical_names() {
    const Graph graph = build(true);
    for (const State& state : graph.states) {
      const InitialiseAttributes& made =
          graph.ops[graph.values[state.initial].producer].attributes.as<InitialiseAttributes>();
      const bool drawn = made.kind != InitialiseAttributes::Kind::constant;
      const std::vector<std::string> module(state.path.begin() + 1, state.path.end() - 1);
      QVERIFY2(made.key == (drawn ? linen_key(key_from_seed(0), module, 1) : Key{}), graph.name(state).c_str());
      QVERIFY2(graph.values[state.before].logical.size() == made.type.shape.size(), graph.name(state).c_str());
    }
    QVERIFY((graph.values[graph.outputs.at("logits")].logical == std::vector<std::string>{"batch", "length", "vocab"}));
  }

  void the_graph_is_sound_and_has_the_documents_inputs_and_outputs() {
    for (bool deterministic : {true, false}) {
      Graph graph = build(deterministic);
      verify(graph);
      QCOMPARE(graph.inputs.size(), size_t{2});
      for (const char* name : {"tokens", "labels"}) {
        QVERIFY(graph.type(graph.inputs.at(name)) == (TensorType{{64, 128}, DType::i32}));
      }
      QVERIFY(graph.type(graph.outputs.at("logits")) == (TensorType{{64, 128, 1024}, DType::f32}));
      QVERIFY(graph.type(graph.outputs.at("loss")) == (TensorType{{}, DType::f32}));
      QVERIFY(graph.type(graph.outputs.at("accuracy")) == (TensorType{{}, DType::f32}));
    }
  }

  void cotangents_have_the_types_of_their_values() {
    for (bool deterministic : {true, false}) {
      Graph graph = build(deterministic);
      const CotangentSeed seed{graph.outputs["loss"], graph.add_input("scale", {{}, DType::f32})};
      const std::vector<ValueId> cotangents = differentiate(graph, {&seed, 1}, op_definition("add"), sum_attributes);
      verify(graph);
      for (size_t v = 0; v < cotangents.size(); ++v) {
        if (cotangents[v] != no_id) QVERIFY(graph.type(cotangents[v]) == graph.values[v].type);
      }
      for (const State& state : graph.states) QVERIFY(cotangents[state.before] != no_id);
      for (const auto& [name, input] : graph.inputs) QCOMPARE(cotangents[input], no_id);
    }
  }

  void dropout_is_there_only_when_not_deterministic_and_each_has_its_own_key() {
    QCOMPARE(count(build(true), "dropout"), size_t{0});
    const Graph graph = build(false);
    QCOMPARE(count(graph, "dropout"), size_t{1 + 2 * 3});
    std::vector<uint32_t> keys;
    for (const Op& op : graph.ops) {
      const bool weights = op.attributes.are<AttentionAttributes>();
      if (!weights && !op.attributes.are<DropoutAttributes>()) continue;
      const DropoutAttributes& dropout =
          weights ? op.attributes.as<AttentionAttributes>().dropout : op.attributes.as<DropoutAttributes>();
      QCOMPARE(dropout.rate, 0.1);
      QVERIFY(dropout.key.key == key_from_seed(0) && dropout.key.stride == 1 && dropout.key.offset == 0);
      keys.push_back(dropout.key.fold.value());
    }
    std::sort(keys.begin(), keys.end());
    QCOMPARE(keys.size(), size_t{1 + 2 * 4});
    QVERIFY(std::adjacent_find(keys.begin(), keys.end()) == keys.end());
  }

  void layers_are_as_many_as_the_options_say() {
    for (int64_t layers : {1, 3, 7}) {
      OptionList options = document_options();
      options[3].second = layers;
      QCOMPARE(count(build(true, options), "attention"), static_cast<size_t>(layers));
    }
  }

  void faults_of_hyperparameters_are_reported_all_at_once() {
    const ModelDefinition* model = find_model("decoder_only_transformer");
    std::vector<Error> errors;
    resolve_options(model->options,
                    {{"vocab_size", int64_t{1}},
                     {"seq_len", std::string("long")},
                     {"embed", int64_t{512}},
                     {"num_layers", int64_t{0}},
                     {"dropout_rate", 1.0}},
                    "model", errors);
    std::map<std::string, std::string> found;
    for (const Error& error : errors) {
      found[to_string(error.place)] = error.code;
      QVERIFY2(!error.hint.empty(), to_string(error.place).c_str());
    }
    const std::map<std::string, std::string> expected{
        {"model.vocab_size", "out_of_range"}, {"model.seq_len", "wrong_type"},
        {"model.embed", "unknown_key"},       {"model.num_layers", "out_of_range"},
        {"model.num_heads", "missing_key"},   {"model.dropout_rate", "out_of_range"}};
    QVERIFY(found == expected && errors.size() == expected.size());
  }

  void heads_must_divide_the_width_and_the_hint_does() {
    const ModelDefinition* model = find_model("decoder_only_transformer");
    for (int64_t heads = 1; heads <= 600; ++heads) {
      OptionList options = document_options();
      options[4].second = heads;
      const std::vector<Error> errors = model->check(options);
      QCOMPARE(errors.empty(), 512 % heads == 0);
      if (errors.empty()) continue;
      QCOMPARE(to_string(errors[0].place), std::string("model.embed_dim"));
      const int64_t hinted = std::stoll(errors[0].hint.substr(std::string("for example ").size()));
      QVERIFY(hinted > 0 && hinted % heads == 0);
    }
  }

  void captions_name_parameters_of_the_model() {
    const ModelDefinition* model = find_model("decoder_only_transformer");
    const Graph graph = build(true);
    const auto captions = model->captions(document_options());
    QCOMPARE(captions.size(), size_t{5});
    for (const auto& [caption, path] : captions) {
      QVERIFY2(
          std::any_of(graph.states.begin(), graph.states.end(), [&](const State& state) { return state.path == path; }),
          caption.c_str());
    }
  }
};

REGISTER_TEST(DecoderOnlyTransformerTest)

}  // namespace decoder_only_transformer_test

#include "decoder_only_transformer_test.moc"
