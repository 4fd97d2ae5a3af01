#include "models/huggingface.h"

#include <QDir>
#include <QTemporaryDir>
#include <QtTest>
#include <filesystem>
#include <fstream>

#include "engine/ops/rotary.h"
#include "models/families.h"
#include "tests/test_program.h"

namespace huggingface_test {

using namespace shardscope;

namespace {

const std::string small_llama = R"({
  "model_type": "llama", "vocab_size": 32, "hidden_size": 16, "intermediate_size": 24, "num_hidden_layers": 2,
  "num_attention_heads": 4, "num_key_value_heads": 2, "max_position_embeddings": 64
})";

OptionList options_of(const std::string& path, const OptionList& more = {}) {
  OptionList given{{"path", path}};
  given.insert(given.end(), more.begin(), more.end());
  std::vector<Error> errors;
  OptionList options = resolve_options(huggingface().options, given, "model", errors);
  if (!errors.empty()) qFatal("%s", to_string(errors[0]).c_str());
  return options;
}

// A folder with this config.json.
class Folder {
 public:
  explicit Folder(const std::string& config) { std::ofstream(file()) << config; }
  std::string path() const { return folder_.path().toStdString(); }
  std::string file() const { return path() + "/config.json"; }
  void add(const std::string& name) const { std::ofstream(path() + "/" + name) << "x"; }
  void add_link_to_nothing(const std::string& name) const {
    std::filesystem::create_symlink("../blobs/nothing", path() + "/" + name);
  }
  std::vector<Error> check(const OptionList& more = {}) const { return huggingface().check(options_of(path(), more)); }
  Graph build(const OptionList& more = {}, int64_t sequence = 0) const {
    ModelContext context;
    context.sequence_length = sequence;
    return huggingface().build(options_of(path(), more), context);
  }

 private:
  QTemporaryDir folder_;
};

std::string replaced(std::string text, const std::string& old, const std::string& with) {
  return text.replace(text.find(old), old.size(), with);
}

const QString corpus = SHARDSCOPE_SOURCE_DIR "/tests/fuzz/corpus/model_configs/";

// One config of most families.
QStringList corpus_files() { return QDir(corpus).entryList(QDir::Files); }

std::string corpus_text(const QString& file) {
  QFile opened(corpus + file);
  if (!opened.open(QIODevice::ReadOnly)) qFatal("no %s", qPrintable(file));
  return opened.readAll().toStdString();
}

// A config with more fields in front, of which ' is written for ".
std::string with_fields(std::string text, QString fields) {
  return text.insert(text.find('{') + 1, fields.replace('\'', '"').toStdString() + ",");
}

int64_t parameter_count(const Graph& graph) {
  int64_t count = 0;
  for (const State& state : graph.states) {
    if (state.trainable) count += element_count(graph.type(state.before).shape);
  }
  return count;
}

}  // namespace

class HuggingfaceTest : public QObject {
  Q_OBJECT

 private slots:
  // As transformers 5.23 builds them.
  void published_models_have_as_many_parameters_as_transformers_counts_data() {
    QTest::addColumn<qlonglong>("count");
    QTest::newRow("llama-3.1-8b") << 8030261248ll;
    QTest::newRow("llama-3.1-70b") << 70553706496ll;
    QTest::newRow("llama-3.1-405b") << 405853388800ll;
    QTest::newRow("mixtral-8x7b") << 46702792704ll;
    QTest::newRow("mixtral-8x22b") << 140620634112ll;
    QTest::newRow("qwen3-30b-a3b") << 30532122624ll;
    QTest::newRow("qwen3-235b-a22b") << 235093634560ll;
    QTest::newRow("qwen2.5-7b") << 7615616512ll;
    QTest::newRow("deepseek-v3") << 671026404352ll;  // routers' biases are buffers
    QTest::newRow("gpt-oss-120b") << 116829156672ll;
    QTest::newRow("gpt2-xl") << 1557611200ll;
    QTest::newRow("gemma-3-27b-text") << 27009346304ll;
    QTest::newRow("olmo-2-7b") << 7298617344ll;
  }
  void published_models_have_as_many_parameters_as_transformers_counts() {
    QFETCH(qlonglong, count);
    const std::string folder = std::string(SHARDSCOPE_SOURCE_DIR "/presets/models/") + QTest::currentDataTag();
    const std::vector<Error> errors = huggingface().check(options_of(folder));
    QVERIFY2(errors.empty(), errors.empty() ? "" : to_string(errors[0]).c_str());
    ModelContext context;
    context.sequence_length = 8;
    QCOMPARE(parameter_count(huggingface().build(options_of(folder), context)), count);
  }

  void a_description_has_the_states_that_a_run_of_it_has_data() {
    QTest::addColumn<QString>("path");
    const QString presets = SHARDSCOPE_SOURCE_DIR "/presets/models/";
    for (const QString& name : QDir(presets).entryList({"*_tiny"}, QDir::Dirs))
      QTest::newRow(qPrintable(name)) << presets + name;
    for (const QString& name : corpus_files()) QTest::newRow(qPrintable(name)) << corpus + name;
  }
  void a_description_has_the_states_that_a_run_of_it_has() {
    QFETCH(QString, path);
    const OptionList options = options_of(path.toStdString());
    std::map<std::string, Shape> described;
    for (const auto& [name, shape] : huggingface().describe(options, DType::f32).states) described[name] = shape;
    ModelContext context;
    context.sequence_length = 8;
    const Graph graph = huggingface().build(options, context);
    QCOMPARE(described.size(), graph.states.size());
    for (const State& state : graph.states)
      QVERIFY2(described.at(graph.name(state)) == graph.type(state.before).shape, graph.name(state).c_str());
  }

  void parameters_have_the_names_and_shapes_that_they_have_on_disk() {
    const Graph graph = Folder(small_llama).build();
    std::map<std::string, Shape> shapes;
    for (const State& state : graph.states) shapes[graph.name(state)] = graph.type(state.before).shape;
    QVERIFY((shapes.at("params/model/embed_tokens/weight") == Shape{32, 16}));
    QVERIFY((shapes.at("params/model/layers/0/self_attn/q_proj/weight") == Shape{16, 16}));
    QVERIFY((shapes.at("params/model/layers/1/self_attn/k_proj/weight") == Shape{8, 16}));
    QVERIFY((shapes.at("params/model/layers/1/mlp/down_proj/weight") == Shape{16, 24}));
    QVERIFY((shapes.at("params/lm_head/weight") == Shape{32, 16}));
    QCOMPARE(shapes.size(), size_t{2 * 9 + 3});
  }

  void every_parameter_of_two_dimensions_has_logical_names() {
    const Graph graph = Folder(small_llama).build();
    for (const State& state : graph.states) {
      const std::vector<std::string>& logical = graph.values[state.before].logical;
      QVERIFY2(logical.size() == graph.type(state.before).shape.size(), graph.name(state).c_str());
      for (const std::string& name : logical) QVERIFY2(!name.empty(), graph.name(state).c_str());
    }
  }

  void the_sequence_is_what_the_data_say_else_the_configs_maximum_up_to_4096() {
    const auto length = [](const Graph& graph) { return graph.type(graph.inputs.at("tokens")).shape[1]; };
    const Folder folder(small_llama);
    QCOMPARE(length(folder.build()), int64_t{64});
    QCOMPARE(length(folder.build({}, 24)), int64_t{24});
    QCOMPARE(length(folder.build({{"overrides.max_position_embeddings", int64_t{1 << 20}}})), int64_t{4096});
  }

  void overrides_replace_fields_and_nested_ones() {
    const Folder folder(small_llama);
    QVERIFY(parameter_count(folder.build({{"overrides.num_hidden_layers", int64_t{1}}})) <
            parameter_count(folder.build()));
    QVERIFY(folder
                .check({{"overrides.rope_parameters.rope_type", std::string("linear")},
                        {"overrides.rope_parameters.factor", 2.0}})
                .empty());
  }

  // Fields of one type mean nothing to another; those of the same type stay.
  void an_override_by_another_rotary_type_replaces_its_object_but_for_theta() {
    const auto rotary = [](const Folder& folder, const OptionList& more) {
      const Graph graph = folder.build(more);
      for (const Op& op : graph.ops)
        if (op.attributes.are<RotaryAttributes>()) return op.attributes;
      throw std::logic_error("no op turns");
    };
    const auto with = [](const std::string& parameters) {
      return Folder(with_fields(small_llama, QString::fromStdString("'rope_parameters': {" + parameters + "}")));
    };
    const std::string llama3 =
        "'rope_type': 'llama3', 'factor': 8, 'low_freq_factor': 1, 'high_freq_factor': 4, 'rope_theta': 500000,"
        " 'original_max_position_embeddings': 32";
    const std::string type = "overrides.rope_parameters.rope_type", factor = "overrides.rope_parameters.factor";
    const OptionList linear{{factor, 2.0}, {type, std::string("linear")}};
    const Folder plain = with("'rope_type': 'linear', 'factor': 2, 'rope_theta': 500000");
    QVERIFY(rotary(with(llama3), linear) == rotary(plain, {}));
    QVERIFY(rotary(with(llama3), {{type, std::string("default")}}) == rotary(with("'rope_theta': 500000"), {}));
    std::string doubled = replaced(llama3, "'factor': 8", "'factor': 16");
    for (const OptionList& same : {OptionList{{factor, 16.0}}, {{type, std::string("llama3")}, {factor, 16.0}}})
      QVERIFY(rotary(with(llama3), same) == rotary(with(doubled), {}));
    const std::vector<Error> errors = with(llama3).check({{type, std::string("linear")}});
    QCOMPARE(errors.at(0).place.path, std::string("rope_parameters.factor"));
  }

  void an_override_by_null_is_null_and_takes_unknown_fields_away() {
    const Folder folder(with_fields(replaced(small_llama, "llama", "mistral"),
                                    "'mine': 1, 'sliding_window': 8, 'rope_scaling': {'rope_type': 'odd'}"));
    QVERIFY(!folder.check().empty());
    const OptionList nulls{{"overrides.mine", Null{}}, {"overrides.rope_scaling", Null{}}};
    QVERIFY(folder.check(nulls).empty());
    OptionList wide = nulls;
    wide.emplace_back("overrides.sliding_window", Null{});
    QVERIFY(folder.check(wide).empty());
    const std::string config = huggingface().describe(options_of(folder.path(), wide), DType::f32).config;
    QVERIFY2(config.find("\"sliding_window\": null") != std::string::npos, config.c_str());
  }

  void an_override_may_be_a_list_of_numbers() {
    const OptionList longrope{{"overrides.rope_scaling.rope_type", std::string("longrope")},
                              {"overrides.rope_scaling.short_factor", NumberList{1, 1.5}},
                              {"overrides.rope_scaling.long_factor", NumberList{2, 2.5}}};
    const Folder folder(small_llama);
    const std::vector<Error> errors = folder.check(longrope);
    QVERIFY2(errors.empty(), errors.empty() ? "" : to_string(errors[0]).c_str());
    QCOMPARE(folder.check({{"overrides.layer_types", NumberList{1}}}).size(), size_t{1});
  }

  void an_unknown_field_is_an_error_unless_it_is_ignored() {
    const Folder folder(replaced(small_llama, "\"vocab_size\"", "\"num_experts_of_mine\": 3,\n  \"vocab_size\""));
    const std::vector<Error> errors = folder.check();
    QCOMPARE(errors.size(), size_t{1});
    QCOMPARE(errors[0].code, std::string("unknown_field"));
    QCOMPARE(to_string(errors[0].place), folder.file() + ":2: num_experts_of_mine");
    QVERIFY(folder.check({{"ignore", TextList{"num_experts_of_mine"}}}).empty());
  }

  void an_unknown_field_of_an_object_is_ignored_by_its_path() {
    for (const char* object : {"rope_scaling", "rope_parameters"}) {
      const std::string field = object + std::string(".mine");
      const Folder folder(replaced(
          small_llama, "\"vocab_size\"",
          "\"" + std::string(object) + "\": {\"rope_type\": \"linear\", \"factor\": 2, \"mine\": 1},\n\"vocab_size\""));
      const std::vector<Error> errors = folder.check();
      QCOMPARE(errors.size(), size_t{1});
      QCOMPARE(errors[0].place.path, field);
      QVERIFY2(errors[0].hint.find("\"ignore\": [\"" + field + "\"]") != std::string::npos, errors[0].hint.c_str());
      QVERIFY(folder.check({{"ignore", TextList{field}}}).empty());
      QCOMPARE(folder.check({{"ignore", TextList{"mine"}}}).size(), size_t{1});
    }
  }

  // Which saved configs have, and transformers takes.
  void fields_of_saved_configs_are_known_data() {
    QTest::addColumn<QString>("file");
    QTest::addColumn<QString>("fields");
    const QString yarn = "{'rope_type': 'yarn', 'factor': 2, 'finetuned': true}";
    for (const QString& file : corpus_files()) {
      QTest::newRow(qPrintable(file)) << file
                                      << "'output_past': true, '_num_labels': 2, '_attn_implementation_autoset': true";
    }
    QTest::newRow("latent heads") << "deepseek_v3.json"
                                  << "'qk_head_dim': 24";
    QTest::newRow("pattern of windows") << "gemma3.json"
                                        << "'_sliding_window_pattern': 6";
    QTest::newRow("yarn") << "llama.json"
                          << "'rope_scaling': " + yarn;
  }
  void fields_of_saved_configs_are_known() {
    QFETCH(QString, file);
    QFETCH(QString, fields);
    const std::vector<Error> errors = Folder(with_fields(corpus_text(file), fields)).check();
    QVERIFY2(errors.empty(), errors.empty() ? "" : to_string(errors[0]).c_str());
  }

  void mrope_is_refused_unless_it_is_off() {
    const std::string qwen = replaced(small_llama, "llama", "qwen2");
    QVERIFY(Folder(with_fields(qwen, "'use_mrope': false")).check().empty());
    QCOMPARE(Folder(with_fields(qwen, "'use_mrope': true")).check().at(0).place.path, std::string("use_mrope"));
  }

  void experts_are_counted_by_either_name() {
    for (const auto& [file, count, also] : {std::tuple{"mixtral.json", "num_local_experts", "num_experts"},
                                            {"gpt_oss.json", "num_local_experts", "num_experts"},
                                            {"deepseek_v3.json", "n_routed_experts", "num_local_experts"}}) {
      const std::string text = corpus_text(file), quoted = "\"" + std::string(count) + "\"";
      const int64_t parameters = parameter_count(Folder(text).build({}, 8));
      const std::string other = replaced(text, quoted, "\"" + std::string(also) + "\"");
      QCOMPARE(parameter_count(Folder(other).build({}, 8)), parameters);
      const std::vector<Error> errors = Folder(with_fields(text, QString("'%1': 3").arg(also))).check();
      QCOMPARE(errors.at(0).code, std::string("contradiction"));
    }
  }

  // As transformers' configs have it: null is num_attention_heads, and hidden_size / num_attention_heads.
  void null_heads_are_those_of_the_queries_in_every_family() {
    for (const ModelFamily& family : model_families()) {
      if (family.model_type == std::string("gpt2") || family.model_type == std::string("mpt")) continue;
      QString fields = "'num_key_value_heads': null, 'head_dim': null";
      if (std::string(family.model_type).find("moe") != std::string::npos ||
          family.model_type == std::string("mixtral"))
        fields += ", 'num_local_experts': 4, 'num_experts_per_tok': 2";
      std::string text = replaced(small_llama, "llama", family.model_type);
      text = with_fields(replaced(text, "\"num_key_value_heads\": 2, ", ""), fields);
      std::vector<Error> errors;
      const JsonNode config = read_json(text, "config.json");
      ModelConfig model(config, "config.json", {}, errors);
      model.without_effect({"model_type"});
      const DecoderOptions decoder = family.read(model, 8);
      QVERIFY2(errors.empty(), errors.empty() ? "" : to_string(errors[0]).c_str());
      QCOMPARE(decoder.key_heads, int64_t{4});
      if (!decoder.latent) QCOMPARE(decoder.head_size, int64_t{4});
    }
  }

  void quantised_weights_that_are_read_are_known_in_every_family_and_not_exported() {
    const QString fp8 =
        "'quantization_config': {'quant_method': 'fp8', 'fmt': 'e4m3', 'activation_scheme': 'dynamic',"
        " 'weight_block_size': [128, 128]}";
    const QString mxfp4 =
        "'quantization_config': {'quant_method': 'mxfp4', 'modules_to_not_convert': ['model.layers.*.self_attn']}";
    for (const QString& file : corpus_files()) {
      for (const QString& quantised : {fp8, mxfp4}) {
        const Folder folder(with_fields(corpus_text(file), quantised));
        const std::vector<Error> errors = folder.check();
        QVERIFY2(errors.empty(), errors.empty() ? "" : to_string(errors[0]).c_str());
        const std::string exported = huggingface().describe(options_of(folder.path()), DType::bf16).config;
        QVERIFY2(exported.find("quantization_config") == std::string::npos, exported.c_str());
      }
    }
  }

  void other_quantised_weights_are_refused_by_name_data() {
    QTest::addColumn<QString>("config");
    QTest::addColumn<QString>("field");
    QTest::addColumn<QString>("named");
    for (const char* method : {"awq", "gptq", "bitsandbytes", "compressed-tensors", "fbgemm_fp8"}) {
      QTest::newRow(method) << QString("{'quant_method': '%1', 'bits': 4}").arg(method)
                            << "quantization_config.quant_method" << method;
    }
    QTest::newRow("no method") << "{'load_in_8bit': true}"
                               << "quantization_config.quant_method"
                               << "quant_method";
    QTest::newRow("other blocks") << "{'quant_method': 'fp8', 'weight_block_size': [64, 64]}"
                                  << "quantization_config.weight_block_size"
                                  << "blocks";
    QTest::newRow("whole arrays") << "{'quant_method': 'fp8', 'weight_block_size': null}"
                                  << "quantization_config.weight_block_size"
                                  << "blocks";
    QTest::newRow("another format") << "{'quant_method': 'fp8', 'fmt': 'e5m2'}"
                                    << "quantization_config.fmt"
                                    << "e5m2";
  }
  void other_quantised_weights_are_refused_by_name() {
    QFETCH(QString, config);
    QFETCH(QString, field);
    QFETCH(QString, named);
    const Folder folder(with_fields(small_llama, "'quantization_config': " + config));
    const std::vector<Error> errors = folder.check();
    QVERIFY(!errors.empty());
    QCOMPARE(errors[0].place.path, field.toStdString());
    QVERIFY2(errors[0].message.find(named.toStdString()) != std::string::npos, errors[0].message.c_str());
    QVERIFY(folder.check({{"ignore", TextList{"quantization_config"}}}).empty());
  }

  void a_key_that_is_given_twice_is_an_error_at_the_second() {
    for (const char* field : {"vocab_size", "rope_scaling"}) {
      const std::string key = "\"" + std::string(field) + "\"";
      const std::string value = field == std::string("vocab_size") ? "64" : "{\"factor\": 1,\n\"factor\": 2}";
      const Folder folder(replaced(small_llama, "\"vocab_size\"", key + ": " + value + ",\n\"vocab_size\""));
      const std::vector<Error> errors = folder.check();
      QCOMPARE(errors.size(), size_t{1});
      QCOMPARE(errors[0].code, std::string("duplicate_key"));
      QCOMPARE(errors[0].place.file, folder.file());
      QCOMPARE(errors[0].place.line, 3);
    }
  }

  void bad_configs_end_in_errors_at_their_place_data() {
    QTest::addColumn<QString>("old");
    QTest::addColumn<QString>("bad");
    QTest::addColumn<QString>("code");
    QTest::addColumn<QString>("field");
    const auto add = [](const char* name, const char* old, const char* bad, const char* code, const char* field) {
      QTest::newRow(name) << old << bad << code << field;
    };
    add("missing size", "\"hidden_size\": 16, ", "", "missing_key", "hidden_size");
    add("text for a number", "\"hidden_size\": 16", "\"hidden_size\": \"16\"", "wrong_type", "hidden_size");
    add("negative", "\"num_hidden_layers\": 2", "\"num_hidden_layers\": -2", "out_of_range", "num_hidden_layers");
    add("absurd", "\"vocab_size\": 32", "\"vocab_size\": 999999999999999", "out_of_range", "vocab_size");
    add("heads that do not divide", "\"num_attention_heads\": 4", "\"num_attention_heads\": 3", "indivisible",
        "num_attention_heads");
    add("unknown family", "\"llama\"", "\"lama\"", "unknown_choice", "model_type");
    add("unknown activation", "\"vocab_size\"", "\"hidden_act\": \"sine\", \"vocab_size\"", "unknown_choice",
        "hidden_act");
    add("no factor", "\"vocab_size\"", "\"rope_scaling\": {\"rope_type\": \"linear\"}, \"vocab_size\"", "missing_key",
        "rope_scaling.factor");
    add("unknown rotary field", "\"vocab_size\"",
        "\"rope_parameters\": {\"rope_type\": \"default\", \"low\": 1}, \"vocab_size\"", "unknown_field",
        "rope_parameters.low");
    const char* longrope = "\"rope_scaling\": {\"rope_type\": \"longrope\", \"short_factor\": [1, 2]}, \"vocab_size\"";
    add("no long factors", "\"vocab_size\"", longrope, "missing_key", "rope_scaling.long_factor");
    add("too many long factors", "\"vocab_size\"",
        "\"rope_scaling\": {\"rope_type\": \"longrope\", \"short_factor\": [1, 2], \"long_factor\": [1, 2, 3]},"
        " \"vocab_size\"",
        "wrong_count", "rope_scaling.long_factor");
    add("a factor of zero", "\"vocab_size\"",
        "\"rope_scaling\": {\"rope_type\": \"longrope\", \"short_factor\": [0, 2], \"long_factor\": [1, 2]},"
        " \"vocab_size\"",
        "out_of_range", "rope_scaling.short_factor");
    add("contradicting factors", "\"vocab_size\"",
        "\"rope_scaling\": {\"rope_type\": \"llama3\", \"factor\": 8, \"low_freq_factor\": 4, \"high_freq_factor\": 1},"
        " \"vocab_size\"",
        "out_of_range", "rope_scaling.high_freq_factor");
  }
  void bad_configs_end_in_errors_at_their_place() {
    QFETCH(QString, old);
    QFETCH(QString, bad);
    QFETCH(QString, code);
    QFETCH(QString, field);
    const Folder folder(replaced(small_llama, old.toStdString(), bad.toStdString()));
    bool found = false;
    for (const Error& error : folder.check()) {
      found |= error.code == code.toStdString() && error.place.path == field.toStdString() &&
               error.place.file == folder.file() && error.place.line > 0;
    }
    QVERIFY(found);
  }

  // The rotary op has what its type says: longrope's factors, and its own magnitude.
  void su_is_longrope() {
    const std::string longrope = replaced(
        small_llama, "\"vocab_size\"",
        R"("rope_scaling": {"rope_type": "longrope", "short_factor": [1, 2], "long_factor": [3, 4], "factor": 2},
           "vocab_size")");
    const auto rotary = [](const std::string& config) {
      const Graph graph = Folder(config).build();
      for (const Op& op : graph.ops)
        if (op.attributes.are<RotaryAttributes>()) return op.attributes;
      throw std::logic_error("no op turns");
    };
    const Attributes expected = rotary(longrope);
    QVERIFY(rotary(replaced(longrope, "\"rope_type\": \"longrope\"", "\"type\": \"su\"")) == expected);
    QVERIFY(rotary(small_llama) != expected);
  }

  void an_overridden_value_is_blamed_in_the_run_file() {
    const std::vector<Error> errors = Folder(small_llama).check({{"overrides.hidden_size", int64_t{-1}}});
    QVERIFY(!errors.empty());
    QCOMPARE(to_string(errors[0].place), std::string("model.overrides.hidden_size"));
  }

  void weights_that_are_not_read_are_an_error_unless_first_values_are_random_data() {
    QTest::addColumn<QStringList>("files");
    QTest::addColumn<QStringList>("links");
    QTest::addColumn<QString>("named");
    const auto add = [](const char* name, const QStringList& files, const QStringList& links, const char* named) {
      QTest::newRow(name) << files << links << named;
    };
    add("pickled", {"pytorch_model.bin"}, {}, "pytorch_model.bin");
    add("pickled, in parts",
        {"pytorch_model-00001-of-00002.bin", "pytorch_model-00002-of-00002.bin", "pytorch_model.bin.index.json"}, {},
        "pytorch_model-00001-of-00002.bin and 1 more");
    add("parts without an index", {"model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"}, {},
        "model.safetensors.index.json");
    add("gguf", {"llama-q4.gguf"}, {}, "llama-q4.gguf");
    add("a linked file that is gone", {}, {"model.safetensors"}, "model.safetensors is a link to ../blobs/nothing");
    add("a linked index that is gone", {"model-00001-of-00002.safetensors"}, {"model.safetensors.index.json"},
        "model.safetensors.index.json is a link to ../blobs/nothing");
  }
  void weights_that_are_not_read_are_an_error_unless_first_values_are_random() {
    QFETCH(QStringList, files);
    QFETCH(QStringList, links);
    QFETCH(QString, named);
    const Folder folder(small_llama);
    for (const QString& file : files) folder.add(file.toStdString());
    for (const QString& link : links) folder.add_link_to_nothing(link.toStdString());
    for (const std::string& path : {folder.path(), folder.file()}) {
      const std::vector<Error> errors = huggingface().check(options_of(path));
      QCOMPARE(errors.size(), size_t{1});
      QCOMPARE(to_string(errors[0].place), std::string("model.path"));
      QVERIFY2(errors[0].message.find(named.toStdString()) != std::string::npos, errors[0].message.c_str());
      QVERIFY2(errors[0].hint.find("\"initialise\": \"random\"") != std::string::npos, errors[0].hint.c_str());
    }
    QVERIFY(folder.check({{"initialise", std::string("random")}}).empty());
  }

  void a_folder_with_readable_weights_or_none_is_no_error() {
    for (const std::vector<std::string>& files :
         std::vector<std::vector<std::string>>{{},
                                               {"optimizer.pt", "training_args.bin", "tokenizer.model"},
                                               {"model.safetensors", "pytorch_model.bin"},
                                               {"model.safetensors.index.json", "model-00001-of-00001.safetensors"}}) {
      const Folder folder(small_llama);
      for (const std::string& file : files) folder.add(file);
      QVERIFY(folder.check().empty());
      const bool begins = files.size() == 2;
      QCOMPARE(huggingface().weights(options_of(folder.path())), begins ? folder.path() : std::string());
    }
  }

  void a_folder_without_a_config_is_an_error_at_its_path() {
    const QTemporaryDir empty;
    const std::vector<Error> errors = huggingface().check(options_of(empty.path().toStdString()));
    QCOMPARE(errors.size(), size_t{1});
    QCOMPARE(to_string(errors[0].place), std::string("model.path"));
  }
};

REGISTER_TEST(HuggingfaceTest)

}  // namespace huggingface_test

#include "huggingface_test.moc"
