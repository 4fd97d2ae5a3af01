#include <QJsonDocument>
#include <QJsonObject>
#include <QProcess>
#include <QtTest>
#include <nlohmann/json.hpp>
#include <set>

#include "engine/config/parse.h"
#include "engine/export/jax_op.h"
#include "engine/export/jax_program.h"
#include "engine/export/jax_source.h"
#include "engine/export/jax_specs_file.h"
#include "engine/machine/host_machine.h"
#include "engine/ops/registry.h"
#include "tests/compile/system_preset.h"
#include "tests/export/exported.h"
#include "tests/test_program.h"

namespace jax_source_test {

using namespace shardscope;
using namespace shardscope::test;

namespace {

std::vector<Error> faults_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const Failure& failure) {
    return failure.errors();
  }
  return {};
}

QString places(const std::vector<Error>& errors) {
  QStringList list;
  for (const Error& error : errors) list << QString::fromStdString(error.code + " " + to_string(error.place));
  return list.join("; ");
}

QStringList lines_of(const std::string& text) { return QString::fromStdString(text).split('\n'); }

}  // namespace

class JaxSourceTest : public QObject {
  Q_OBJECT

  // What Python says of programs: {"base": TEXT, "texts": {NAME: TEXT}} to standard input of the script; no line where
  // all is well.
  static QString python_says(const char* script, const std::string& base, const QJsonObject& texts) {
    QProcess python;
    python.start("python3", {"-W", "error", "-c", script});
    python.write(QJsonDocument(QJsonObject{{"base", QString::fromStdString(base)}, {"texts", texts}}).toJson());
    python.closeWriteChannel();
    python.waitForFinished(300'000);
    return QString::fromUtf8(python.readAllStandardOutput() + python.readAllStandardError()).trimmed();
  }
  static bool has_python() { return QProcess::execute("python3", {"-c", ""}) == 0; }

 private slots:
  void names_of_axes_are_text_in_string_literals_alone() {
    if (!has_python()) QSKIP("there is no python3");
    const std::string file = text_of(preset_path("tensor_parallel_mlp"));
    const auto config_of = [&](const std::string& name) {
      std::string text = file;
      replace(text, "\"Y\"", nlohmann::json(name).dump());
      return parse_run_config(text, "run.json");
    };
    const std::string long_name = "a" + std::string(80, '(') + ", [b] \"c\"";
    for (const bool whole : {true, false}) {
      const auto program = [&](const std::string& name) {
        return whole ? jax_program(config_of(name)) : jax_specs(config_of(name));
      };
      QJsonObject texts;
      for (const std::string& name :
           {std::string("a\"\"\"b"), std::string("C:\\new\\users"), std::string("m("), std::string("a[b"),
            std::string("q\""), std::string("donn\u00e9es"), std::string("x  #? y"), std::string("it's"),
            std::string("a, b"), std::string("{i}"), std::string("a\\"), std::string("\\\"\"\""), std::string("# a"),
            std::string("\"\"\"\"+print(1)+\"\"\""), std::string("LOSSES"), long_name})
        texts[QString::fromStdString(name)] = QString::fromStdString(program(name));
      const QString said = python_says(R"(
import ast, json, sys
given = json.load(sys.stdin)
def tree(text, name):
    parsed = ast.parse(text)
    for node in ast.walk(parsed):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            node.value = "NAME" if node.value == name else node.value.replace(name + "=", "NAME=")
    return ast.dump(parsed)
base = tree(given["base"], "Y")
for name, text in given["texts"].items():
    try:
        if tree(text, name) != base: print("another program:", repr(name))
    except SyntaxError as error:
        print(repr(name), error)
)",
                                       program("Y"), texts);
      QVERIFY2(said.isEmpty(), qPrintable(said));
    }
  }

  void what_jax_cannot_express_is_refused_at_its_place_data() {
    QTest::addColumn<QString>("preset");
    QTest::addColumn<QStringList>("settings");
    QTest::addColumn<QString>("expected");
    const auto row = [](const char* name, const char* preset, QStringList settings, const char* expected) {
      QTest::newRow(name) << preset << settings << expected;
    };
    row("a pipeline", "workshop_3d", {}, "not_exportable pipeline.axis");
    row("no training", "tiny_lm_dp", {"optimizer=null"}, "not_exportable optimizer");
    row("types of parameters", "tiny_lm_dp", {"precision=bf16"}, "not_exportable precision");
    row("sums of a norm", "tiny_lm_dp",
        {R"(sharding.constraints={"blocks_0/LayerNorm_0/layer_norm_moments:1": ["data"]})"},
        "not_exportable sharding.constraints.blocks_0/LayerNorm_0/layer_norm_moments:1");
  }
  void what_jax_cannot_express_is_refused_at_its_place() {
    QFETCH(QString, preset);
    QFETCH(QStringList, settings);
    QFETCH(QString, expected);
    std::vector<std::string> list;
    for (const QString& setting : settings) list.push_back(setting.toStdString());
    const RunConfig config = system_run(preset.toStdString(), list);
    const std::vector<Error> errors = faults_of([&] { jax_program(config); });
    QCOMPARE(places(errors), expected);
    QVERIFY2(errors[0].hint.find("specs") != std::string::npos, errors[0].hint.c_str());
    QVERIFY(!jax_specs(config).empty());
  }

  void optimizers_are_those_of_optax_by_the_same_names() {
    const auto line = [](const std::vector<std::string>& settings) {
      std::vector<std::string> all{"optimizer.learning_rate=0.25"};
      all.insert(all.begin(), settings.begin(), settings.end());
      return lines_of(jax_program(system_run("tiny_lm_dp", all))).filter(QRegularExpression("^optimizer = ")).join(' ');
    };
    QCOMPARE(line({"optimizer.name=sgd", "optimizer.momentum=0.5"}),
             QString("optimizer = optax.sgd(LEARNING_RATE, momentum=0.5)"));
    QCOMPARE(line({"optimizer.name=sgd", "optimizer.momentum=0.5", "optimizer.nesterov=true",
                   "optimizer.clip_by_global_norm=2"}),
             QString("optimizer = optax.chain(optax.clip_by_global_norm(2), optax.sgd(LEARNING_RATE, momentum=0.5, "
                     "nesterov=True))"));
    QCOMPARE(line({"optimizer.name=lion"}), QString("optimizer = optax.lion(LEARNING_RATE)"));
    QCOMPARE(line({"optimizer.name=lion", "optimizer.b1=0.8", "optimizer.weight_decay=0.5",
                   "optimizer.decay_mask=**/{kernel,scale}"}),
             QString("optimizer = optax.lion(LEARNING_RATE, b1=0.8, weight_decay=0.5, mask=decays)"));
    const std::string source = jax_program(
        system_run("tiny_lm_dp", {"optimizer.name=sgd", "optimizer.learning_rate=0.25", "optimizer.momentum=0.5"}));
    QVERIFY(source.find("OPTIMIZER_STATE = {\"trace\": \"trace\"}") != std::string::npos);
  }

  void gradients_without_an_update_are_optaxs_set_to_zero() {
    const std::vector<std::string> unchanged{"optimizer.name=set_to_zero"};
    const std::string source = jax_program(system_run("workshop_memory", unchanged));
    QVERIFY(lines_of(source).contains("optimizer = optax.set_to_zero()"));
    QVERIFY(source.find("OPTIMIZER_STATE = {}") != std::string::npos);
    QVERIFY(source.find("LEARNING_RATE") == std::string::npos);
    const std::string clipped =
        jax_program(system_run("workshop_memory", {"optimizer.name=set_to_zero", "optimizer.clip_by_global_norm=2"}));
    QVERIFY(lines_of(clipped).contains("optimizer = optax.chain(optax.clip_by_global_norm(2), optax.set_to_zero())"));
  }

  void inputs_of_ones_have_targets_of_zero() {
    const std::string source = jax_program(system_run("workshop_tp", {"data.kind=ones"}));
    QVERIFY(source.find("jnp.zeros(shape) if name == \"targets\" else jnp.ones(shape)") != std::string::npos);
    QVERIFY(source.find("SHAPES = {\"inputs\": (") != std::string::npos);
  }

  void a_layer_without_norms_and_residuals_has_no_line_of_them() {
    const QRegularExpression residual("^    x = x \\+ y$");
    const QStringList lines =
        lines_of(jax_program(system_run("workshop_tp", {"model.norms=false", "model.residuals=false"})));
    for (const char* text : {"ln1", "ln2", "layer_norm"}) QVERIFY2(lines.filter(text).isEmpty(), text);
    QCOMPARE(lines.filter(residual).size(), 0);
    QCOMPARE(lines_of(jax_program(system_run("workshop_tp", {}))).filter(residual).size(), 2);
  }

  void a_constraint_follows_the_line_that_makes_its_activation() {
    const QStringList lines = lines_of(jax_program(system_run("mintext_transformer", {})));
    const qsizetype at = lines.indexOf("    y = y @ params[\"w1\"]");
    QVERIFY(at > 0);
    QCOMPARE(lines[at + 1], QString("    y = constrain(y, P(\"x\", None, \"y\"))"));
    QCOMPARE(lines.filter("constrain(").size(), 1 + 4 + 1);  // its definition, each of the file, the output
  }

  void a_constraint_of_one_layer_alone_gives_it_a_function_of_its_own() {
    const QStringList lines =
        lines_of(jax_program(system_run("tiny_lm_dp", {R"(sharding.constraints={"blocks_1/gelu": ["data"]})"})));
    QCOMPARE(lines.filter(QRegularExpression("^def block")).join(" "),
             QString("def block(params, x): def block_2(params, x):"));
    QVERIFY(lines.contains("    x = block_2(params[\"blocks_1\"], x)"));
    QVERIFY(lines.contains("    for i in range(2, 4):"));
  }

  // Those of a ring are left to JAX.
  void every_op_of_forward_has_its_text() {
    const std::set<std::string_view> others{
        "accumulate",  "reduce_sum",   "initialise",      "sum_of_squares",  "global_norm",    "roll",
        "join_halves", "block_halves", "attention_block", "merge_attention", "ring_attention", "zigzag"};
    for (const OpDefinition* op : all_op_definitions()) {
      const bool backward = op->name().find("_grad") != std::string_view::npos || op->work_kind() == "optimizers";
      if (backward || others.contains(op->name())) continue;
      QVERIFY2(find_jax_op(op->name()), std::string(op->name()).c_str());
    }
  }

  void a_layer_is_one_function_and_layers_are_a_loop() {
    const QStringList lines = lines_of(jax_program(system_run("nnx_gpt2", {"model.num_layers=7"})));
    QCOMPARE(lines.filter(QRegularExpression("^def (block|mha)")).join(" "),
             QString("def mha(params, x): def block(params, keys, x):"));
    const qsizetype at = lines.indexOf("    for i in range(NUM_LAYERS):");
    QVERIFY(at > 0);
    QCOMPARE(lines[at + 1], QString("        x = block(params[\"blocks\"][i], keys[\"blocks\"][i], x)"));
  }

  void layers_that_take_turns_are_one_loop() {
    const QStringList lines =
        lines_of(jax_program(system_run("tiny_lm_dp", {R"(sharding.constraints={"blocks_{0,2}/gelu": ["data"]})"})));
    QVERIFY(lines.contains("    for i, function in enumerate(([block] + [block_2]) * 2):"));
  }

  void what_is_rematerialised_is_a_checkpoint_data() {
    QTest::addColumn<QString>("policy");
    QTest::addColumn<QString>("line");
    QTest::newRow("full") << "full"
                          << "        x = jax.checkpoint(block)(params[f\"blocks_{i}\"], x)";
    QTest::newRow("attention") << "attention"
                               << "    x = jax.checkpoint(attend)(query, key, value)";
    QTest::newRow("mlp") << "mlp"
                         << "    y = jax.checkpoint(mlp)(params, y)";
    QTest::newRow("a pattern") << "[\"**/LayerNorm_1/**\"]"
                               << "    y = jax.checkpoint(layer_norm_1)(params, x)";
  }
  void what_is_rematerialised_is_a_checkpoint() {
    QFETCH(QString, policy);
    QFETCH(QString, line);
    const QStringList lines =
        lines_of(jax_program(system_run("tiny_lm_dp", {"schedule.rematerialise=" + policy.toStdString()})));
    QVERIFY2(lines.contains(line), qPrintable(lines.filter("checkpoint").join("\n")));
    QCOMPARE(lines.filter("checkpoint").size(), 1);
  }

  void marks_and_idle_lines_are_gone_data() {
    QTest::addColumn<QString>("preset");
    for (const char* preset :
         {"parallax_decoder", "tiny_lm_fsdp", "nnx_gpt2", "tiny_text", "mintext_transformer", "mintext_mlp",
          "logical_dot_relu_dot", "tensor_parallel_mlp", "workshop_tp", "llama_tiny", "mixtral_tiny", "gemma3_tiny",
          "gpt_oss_tiny", "qwen3_tiny", "deepseek_v3_tiny"})
      QTest::newRow(preset) << preset;
  }
  void marks_and_idle_lines_are_gone() {
    QFETCH(QString, preset);
    const std::string text = jax_program(system_run(preset.toStdString(), {}));
    static const QRegularExpression mark("#[?!@] ");
    QVERIFY(!QString::fromStdString(text).contains(mark));
    QVERIFY(text.find("\n\n\n\n") == std::string::npos);
    for (const QString& line : lines_of(text)) QVERIFY2(line.size() <= 120, qPrintable(line));
  }

  void a_program_has_the_values_of_its_run_file() {
    const std::string text = jax_program(
        system_run("tiny_text", {"model.num_layers=5", "steps=7", "seed=11", "mesh.data=4", "data.batch_size=24"}));
    for (const char* value : {"NUM_LAYERS = 5\n", "STEPS = 7\n", "SEED = 11\n", "BATCH_SIZE = 24\n", "device_count=4\"",
                              "optax.clip_by_global_norm(1)", "decay_steps=400", "(.*/)?kernel", "reshape(4, 1)"})
      QVERIFY2(text.find(value) != std::string::npos, value);
  }

  void specs_of_other_places_become_the_shortest_rules() {
    const RunConfig config = system_run("tiny_lm_fsdp", {});
    const RunConfig changed = with_specs(config, R"({
      "params/head/kernel": ["data", null],
      "optimizer/mu/params/tok_emb/embedding": [null, null],
      "tokens": ["data", null],
      "blocks_0/gelu": [null, null, "data"],
      "logits": []
    })",
                                         "x.json");
    QCOMPARE(changed.sharding.parameters.size(), 1U);
    QCOMPARE(changed.sharding.rules.size(), config.sharding.rules.size() + 2);  // a state, and the open output
    QCOMPARE(changed.sharding.rules[0].names, std::string("optimizer/mu/params/tok_emb/embedding"));
    QCOMPARE(changed.sharding.constraints.size(), config.sharding.constraints.size() + 1);
    QVERIFY(changed.sharding.in == config.sharding.in);
  }

  void faults_of_a_specs_file_are_all_reported_at_their_lines() {
    const RunConfig config = system_run("tiny_lm_fsdp", {});
    const auto faults = [&](const char* text) {
      return places(faults_of([&] { with_specs(config, text, "x.json"); }));
    };
    QCOMPARE(faults("{\n\"params/heat/kernel\": [],\n\"params/head/kernel\": [\"date\"]}"),
             QString("unknown_array x.json:2: params/heat/kernel; "
                     "unknown_axis x.json:3: params/head/kernel[0]"));
    QCOMPARE(faults("[]"), QString("wrong_type x.json:1"));
    QCOMPARE(faults("{"), QString("truncated x.json:1:2"));
    const auto hint = faults_of([&] { with_specs(config, R"({"params/heat/kernel": []})", "x.json"); })[0].hint;
    QVERIFY2(hint.find("params/head/kernel") != std::string::npos, hint.c_str());
  }

  void specs_of_a_pipeline_are_those_of_its_plan_whichever_axis_zero_takes() {
    for (const std::vector<MeshAxis>& axes :
         {std::vector<MeshAxis>{{"pipeline", 3}, {"data", 2}}, std::vector<MeshAxis>{{"data", 2}, {"pipeline", 3}}}) {
      RunConfig config = system_run("workshop_gpipe", {"sharding.zero.stage=1"});
      config.mesh_axes = axes;
      const ExportSource source{std::make_shared<Plan>(compile({config, reference_host()})), {}, {}, {}};
      const std::string specs = exported_text(source, "specs");
      QVERIFY(specs.find("optimizer/") != std::string::npos && specs.find("\"data\"") != std::string::npos);
      QVERIFY(with_specs(config, specs, "x.json") == config);
      QVERIFY(jax_specs(config).find("P(\"pipeline\"") == std::string::npos);
      QCOMPARE(places(faults_of([&] { with_specs(config, "{\n\"inputs\": [\"pipeline\"]}", "x.json"); })),
               QString("pipeline x.json:2: inputs"));
    }
  }

  void specs_that_zero_would_change_are_refused() {
    const RunConfig config = system_run("tiny_lm_dp", {"sharding.zero.stage=1"});
    const char* text = R"({"params/head/kernel": ["data"], "optimizer/mu/params/tok_emb/embedding": []})";
    QVERIFY(with_specs(config, text, "x.json").sharding.rules.size() == 1);
    const RunConfig all = system_run("tiny_lm_dp", {"sharding.zero.stage=3"});
    QCOMPARE(places(faults_of([&] { with_specs(all, R"({"params/head/kernel": []})", "x.json"); })),
             QString("overruled x.json:1: params/head/kernel"));
  }
};

REGISTER_TEST(JaxSourceTest)

}  // namespace jax_source_test

#include "jax_source_test.moc"
