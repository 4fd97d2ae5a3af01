#include <QtTest>
#include <algorithm>
#include <cmath>

#include "engine/config/rename_axis.h"
#include "engine/export/jax_program.h"
#include "engine/export/jax_specs_file.h"
#include "engine/machine/host_machine.h"
#include "tests/compile/system_preset.h"
#include "tests/test_program.h"
#include "tests/training/thread_training.h"

namespace jax_program_test {

using namespace shardscope;
using namespace shardscope::test;

namespace {

struct Case {
  const char* name;
  const char* preset;
  std::vector<std::string> settings;
  int steps = 4;
  bool is_whole = false;  // of the preset's own size: takes minutes
};

const std::vector<std::string> small_decoder{"model.vocab_size=64", "model.seq_len=16", "model.embed_dim=32",
                                             "model.num_heads=4", "data.batch_size=16"};

std::vector<std::string> operator+(std::vector<std::string> list, const std::vector<std::string>& more) {
  list.insert(list.end(), more.begin(), more.end());
  return list;
}

std::vector<std::string> small(const char* preset) { return system_preset(preset).small; }

// A family of Hugging Face's, as tests/fuzz/corpus has it.
std::vector<std::string> family(const char* name) {
  return {std::string("model.path=" SHARDSCOPE_SOURCE_DIR "/tests/fuzz/corpus/model_configs/") + name + ".json",
          "data.sequence_length=12"};
}

// The first has the most devices: a process of JAX takes their number once.
const std::vector<Case>& cases() {
  static const std::vector<Case> all{
      {"parallax_decoder", "parallax_decoder", small_decoder},
      {"parallax_decoder_dropout", "parallax_decoder", small_decoder + std::vector<std::string>{"deterministic=false"}},
      {"tiny_lm_fsdp", "tiny_lm_fsdp", small("tiny_lm_fsdp")},
      {"tiny_lm_microbatches", "tiny_lm_dp",
       small("tiny_lm_dp") + std::vector<std::string>{"mesh.data=4", "schedule.microbatches=4",
                                                      "schedule.rematerialise=full", "sharding.zero.stage=2",
                                                      "optimizer.clip_by_global_norm=0.5", "optimizer.weight_decay=0.1",
                                                      "optimizer.decay_mask=**/kernel, params/tok_emb/*"}},
      {"tiny_lm_nesterov", "tiny_lm_fsdp",
       small("tiny_lm_fsdp") + std::vector<std::string>{"optimizer.name=sgd", "optimizer.learning_rate=0.1",
                                                        "optimizer.momentum=0.9", "optimizer.nesterov=true"}},
      {"nnx_gpt2_lion", "nnx_gpt2",
       small("nnx_gpt2") + std::vector<std::string>{"mesh.batch=2", "optimizer.name=lion",
                                                    "optimizer.learning_rate=1e-4",
                                                    "optimizer.decay_mask=**/{kernel,embedding}"}},
      {"nnx_gpt2", "nnx_gpt2", small("nnx_gpt2")},
      {"nnx_gpt2_tied", "nnx_gpt2",
       small("nnx_gpt2") +
           std::vector<std::string>{"mesh.batch=2", "model.tied_embedding=true", "deterministic=true",
                                    "schedule.microbatches=2", "schedule.rematerialise=full",
                                    "sharding.constraints={\"blocks/*/gelu\": [\"batch\", null, \"model\"]}"}},
      {"tiny_text", "tiny_text", small("tiny_text")},
      {"mintext_transformer", "mintext_transformer", small("mintext_transformer")},
      {"mintext_transformer_bf16", "mintext_transformer",
       small("mintext_transformer") + std::vector<std::string>{"model.compute_dtype=bf16", "model.kv_heads=4"}},
      {"mintext_mlp", "mintext_mlp", small("mintext_mlp")},
      {"logical_dot_relu_dot", "logical_dot_relu_dot", small("logical_dot_relu_dot")},
      {"tensor_parallel_mlp", "tensor_parallel_mlp", small("tensor_parallel_mlp")},
      {"sequential_activations",
       "workshop_gpipe",
       {R"(model.layers=["linear 32", "silu", "linear 32", "gated_silu", "gelu", "linear 16", "gelu_exact", "linear 16",)"
        R"( "soft_cap 3", "linear 8"])",
        "model.input=24", "mesh.pipeline=1", "pipeline.axis=\"\""}},
      {"sequential", "workshop_zero_bubble",
       small("workshop_zero_bubble") +
           std::vector<std::string>{"mesh.data=2", "pipeline.axis=\"\"", "data.batch_size=8"}},
      {"workshop_sequence", "workshop_sequence", small("workshop_sequence")},
      {"workshop_sequence_megatron", "workshop_sequence_megatron",
       small("workshop_sequence_megatron") + std::vector<std::string>{"model.num_layers=2", "sharding.parameters={}",
                                                                      "sharding.constraints={}",
                                                                      "schedule.rematerialise=full"}},
      {"workshop_tp", "workshop_tp", small("workshop_tp") + std::vector<std::string>{"schedule.rematerialise=full"}},
      {"workshop_tp_document", "workshop_tp_document", small("workshop_tp")},
      {"workshop_sequence_document", "workshop_sequence_document",
       small("workshop_sequence") +
           std::vector<std::string>{"model.num_layers=2", "sharding.parameters={}", "sharding.constraints={}"}},
      {"parallax_decoder_dropout_microbatches", "parallax_decoder",
       small_decoder + std::vector<std::string>{"deterministic=false", "schedule.microbatches=2"}},
      {"nnx_gpt2_dropout_microbatches", "nnx_gpt2",
       small("nnx_gpt2") + std::vector<std::string>{"mesh.batch=2", "model.num_layers=1", "schedule.microbatches=2"}},
      {"tiny_lm_bf16", "tiny_lm_fsdp", small("tiny_lm_fsdp") + std::vector<std::string>{"model.compute_dtype=bf16"}},
      {"nnx_gpt2_bf16", "nnx_gpt2", small("nnx_gpt2") + std::vector<std::string>{"model.compute_dtype=bf16"}},
      {"tiny_lm_attention_again", "tiny_lm_dp",
       small("tiny_lm_dp") + std::vector<std::string>{"schedule.rematerialise=attention"}},
      {"nnx_gpt2_parts_again", "nnx_gpt2",
       small("nnx_gpt2") + std::vector<std::string>{"schedule.rematerialise=[\"mlp\", \"**/layer_norm1/**\"]"}},
      {"tiny_lm_layers_again_together", "tiny_lm_dp",
       small("tiny_lm_dp") + std::vector<std::string>{"schedule.rematerialise=full", "schedule.rematerialised_layers=3",
                                                      "model.n_layers=4"}},
      {"tiny_lm_layers_that_differ", "tiny_lm_dp",
       small("tiny_lm_dp") +
           std::vector<std::string>{R"(sharding.constraints={"blocks_{0,2}/gelu": ["data"]})", "model.n_layers=4"}},
      {"llama_tiny", "llama_tiny", small("llama_tiny")},
      {"qwen3_tiny", "qwen3_tiny", small("qwen3_tiny")},
      {"gemma3_tiny", "gemma3_tiny", small("gemma3_tiny")},
      {"mixtral_tiny", "mixtral_tiny", small("mixtral_tiny")},
      {"deepseek_v3_tiny", "deepseek_v3_tiny", small("deepseek_v3_tiny")},
      {"gpt_oss_tiny", "gpt_oss_tiny", small("gpt_oss_tiny")},
      {"gpt2", "llama_tiny", family("gpt2")},
      {"mpt", "llama_tiny", family("mpt")},
      {"phi3", "llama_tiny", family("phi3") + std::vector<std::string>{"model.overrides.num_key_value_heads=4"}},
      {"phi3_adapters", "llama_tiny",
       family("phi3") +
           std::vector<std::string>{"model.lora.rank=2", R"(model.lora.targets=["qkv_proj", "gate_up_proj"])"}},
      {"llama_tiny_adapters", "llama_tiny",
       small("llama_tiny") + std::vector<std::string>{"model.lora.rank=2", R"(model.lora.targets=["q_proj", "v_proj"])",
                                                      "optimizer.clip_by_global_norm=0.5"}},
      {"sequential_with_experts",
       "workshop_gpipe",
       {R"(model.layers=["x = linear 16", "linear 4", "r = top_k 2 sigmoid", "dispatch r from x capacity 1",)"
        R"( "expert_linear 24", "silu", "expert_linear 16", "combine", "add x", "linear 8"])",
        "model.input=24", "mesh.pipeline=1", "pipeline.axis=\"\""}},
      {"sequential_with_names",
       "workshop_gpipe",
       {R"(model.layers=["h = linear 32", "relu", "linear 32", "add h", "linear 8"])", "model.input=24",
        "mesh.pipeline=1", "pipeline.axis=\"\""}},
      {"whole_parallax_decoder", "parallax_decoder", {}, 4, true},
      {"whole_tiny_lm_fsdp", "tiny_lm_fsdp", {}, 4, true},
      {"whole_nnx_gpt2", "nnx_gpt2", {}, 2, true},
      {"whole_mintext_transformer", "mintext_transformer", {}, 2, true},
  };
  return all;
}

RunConfig config_of(const Case& one) { return system_run(one.preset, one.settings); }

// A Python that has JAX; empty where there is none.
QString find_python() {
  const QString python = qEnvironmentVariable("SHARDSCOPE_PYTHON", "python3");
  QProcess asked;
  asked.start(python, {"-c", "import jax, flax, optax"});
  return asked.waitForFinished(300000) && asked.exitCode() == 0 ? python : QString();
}

// Whether a row of this name is asked for: all are, unless arguments name some (function:row).
bool is_asked_for(const Case& one) {
  const QStringList named = QCoreApplication::arguments().filter(":");
  const auto is_this = [&](const QString& argument) { return argument.section(':', 1) == one.name; };
  return named.isEmpty() || std::ranges::any_of(named, is_this);
}

bool wants_whole() { return qEnvironmentVariableIsSet("SHARDSCOPE_WHOLE_PRESETS"); }

// Runs every program of its arguments, FILE=STEPS, as __main__, one after the other: JAX is imported once.
constexpr const char* driver = R"(
import os, runpy, sys
os.environ["JAX_DISABLE_MOST_OPTIMIZATIONS"] = "1"  # so that compiling takes half of the time
runs = sys.argv[1:]
for run in runs:
    file, steps = run.rsplit("=", 1)
    print("#", file, flush=True)
    sys.argv = [file, "--steps", steps, "--write-specs", file + ".json"]
    runpy.run_path(file, run_name="__main__")
)";

// Runs parse_arguments() of a program, with its docstring, without what that imports.
constexpr const char* help_driver = R"(
import argparse, ast, sys
tree = ast.parse(open(sys.argv[1]).read())
__doc__ = ast.get_docstring(tree, clean=False)
STEPS = 1
functions = [node for node in tree.body if getattr(node, "name", "") == "parse_arguments"]
exec(compile(ast.Module(functions, []), sys.argv[1], "exec"))
sys.argv = ["program", "--help"]
parse_arguments()
)";

void write(const QString& path, const std::string& text) {
  QFile file(path);
  QVERIFY(file.open(QIODevice::WriteOnly));
  file.write(QByteArray::fromStdString(text));
}

std::string read(const QString& path) {
  QFile file(path);
  return file.open(QIODevice::ReadOnly) ? file.readAll().toStdString() : std::string();
}

}  // namespace

class JaxProgramTest : public QObject {
  Q_OBJECT

  QTemporaryDir folder_;
  QMap<QString, QList<QJsonObject>> printed_;  // by case
  QString missing_ = "JAX is not installed: SHARDSCOPE_PYTHON names a Python that has it";

  static constexpr const char* takes_minutes = "Presets as large as they are: set SHARDSCOPE_WHOLE_PRESETS";

  QString program(const QString& name) const { return folder_.filePath(name + ".py"); }

  void add_cases() {
    QTest::addColumn<int>("index");
    for (size_t i = 0; i < cases().size(); ++i) QTest::newRow(cases()[i].name) << static_cast<int>(i);
  }

 private slots:
  void initTestCase() {
    const QString python = find_python();
    if (python.isEmpty()) return;
    missing_.clear();
    QStringList files{"-c", driver};
    for (const Case& one : cases()) {
      if ((one.is_whole && !wants_whole()) || !is_asked_for(one)) continue;
      write(program(one.name), jax_program(config_of(one)));
      files << QString("%1=%2").arg(program(one.name)).arg(one.steps);
    }
    QProcess run;
    run.start(python, files);
    QVERIFY(run.waitForFinished(1500000));
    QString name;
    for (const QByteArray& line : run.readAllStandardOutput().split('\n')) {
      if (line.startsWith("# ")) name = QFileInfo(QString::fromUtf8(line.mid(2))).baseName();
      else if (!line.isEmpty()) printed_[name] << QJsonDocument::fromJson(line).object();
    }
    QVERIFY2(run.exitCode() == 0, (name.toUtf8() + "\n" + run.readAllStandardError().right(3000)).constData());
  }

  void an_exported_program_has_our_losses_data() { add_cases(); }
  void an_exported_program_has_our_losses() {
    if (!missing_.isEmpty()) QSKIP(qPrintable(missing_));
    QFETCH(int, index);
    const Case& one = cases()[static_cast<size_t>(index)];
    if (one.is_whole && !wants_whole()) QSKIP(takes_minutes);
    const Plan plan = compile({config_of(one), reference_host()});
    const ThreadTraining ours = train_in_threads(plan, one.steps);
    const QList<QJsonObject> theirs = printed_[one.name];
    QCOMPARE(theirs.size(), one.steps);
    double furthest = 0;
    const double limit = QString(one.name).contains("bf16") ? 5e-3 : 1e-4;
    for (int step = 0; step < one.steps; ++step) {
      for (size_t metric = 0; metric < plan.metrics.size(); ++metric) {
        const QString name = QString::fromStdString(plan.metrics[metric].name);
        if (name.startsWith("val_") || name == "expert_imbalance" || name == "dropped_tokens") continue;
        QVERIFY2(theirs[step].contains(name), qPrintable(name));
        const double got = theirs[step][name].toDouble();
        const double expected = ours.steps[static_cast<size_t>(step)].metrics[metric].value;
        QVERIFY2(std::abs(got - expected) <= limit * std::max(std::abs(expected), 1e-3),
                 qPrintable(QString("step %1: %2 is %3 in JAX, %4 here").arg(step).arg(name).arg(got).arg(expected)));
        furthest = std::max(furthest, std::abs(got - expected) / std::max(std::abs(expected), 1e-3));
      }
    }
    if (one.is_whole) qInfo("furthest from JAX: %.2g", furthest);
  }

  void the_specs_that_a_program_writes_change_nothing_data() { add_cases(); }
  void the_specs_that_a_program_writes_change_nothing() {
    if (!missing_.isEmpty()) QSKIP(qPrintable(missing_));
    QFETCH(int, index);
    const Case& one = cases()[static_cast<size_t>(index)];
    if (one.is_whole && !wants_whole()) QSKIP(takes_minutes);
    const std::string specs = read(program(one.name) + ".json");
    QVERIFY(specs.size() > 10);
    QVERIFY(with_specs(config_of(one), specs, "specs.json") == config_of(one));
  }

  void its_help_names_the_mesh_as_it_is() {
    const QString python = QStandardPaths::findExecutable("python3");
    if (python.isEmpty()) QSKIP("python3 is not installed");
    RunConfig config = config_of(cases()[0]);
    for (const char* axis : {"data", "50%", "%s", "%(prog)s", "100%(prog)d", "%(prog", "%%(prog)s%"}) {
      config = rename_axis(config, config.mesh_axes[0].name, axis);
      write(program("help"), jax_program(config));
      QProcess help;
      help.start(python, {"-c", help_driver, program("help")});
      QVERIFY(help.waitForFinished(60000));
      QVERIFY2(help.exitCode() == 0, help.readAllStandardError().constData());
      const QByteArray first = help.readAllStandardOutput().split('\n').value(2);
      QVERIFY2(first.contains(QByteArray(" on a mesh of ") + axis + "=4, "), first.constData());
    }
  }

  // Those that it writes are the real ones of JAX: changed in the program, they are changed here.
  void the_specs_of_a_changed_program_are_rules_here() {
    if (!missing_.isEmpty()) QSKIP(qPrintable(missing_));
    const RunConfig config = config_of(cases()[0]);
    const QString specs = folder_.filePath("changed.json");
    std::string text = jax_program(config);
    const std::string line = R"("params/Embed_0/embedding": P("data", "model"))";
    QVERIFY(text.find(line) != std::string::npos);
    text.replace(text.find(line), line.size(), R"("params/Embed_0/embedding": P(None, ("data", "model")))");
    write(program("changed"), text);
    QCOMPARE(QProcess::execute(find_python(), {program("changed"), "--steps", "0", "--write-specs", specs}), 0);
    const RunConfig changed = with_specs(config, read(specs), "changed.json");
    const ParameterSpec* spec = find_parameter_spec(changed.sharding, {"params", "Embed_0", "embedding"});
    QVERIFY(spec && spec->spec == (PartitionSpec{{{}, {"data", "model"}}}));
    QVERIFY(changed.sharding.rules.empty());
  }
};

REGISTER_TEST(JaxProgramTest)

}  // namespace jax_program_test

#include "jax_program_test.moc"
