#include <QtTest>

#include <algorithm>

#include "tests/laws/serial_training.h"
#include "tests/test_program.h"

namespace context_test {

using namespace shardscope;
using namespace shardscope::test;

namespace {

// The length of every sequence is split over the axis context.
RunConfig run_of(const std::string& preset, const std::vector<int64_t>& mesh, LayoutMode mode) {
  RunConfig config = system_run(preset, system_preset(preset).small);
  config.mesh_axes = {{"data", mesh[0]}, {"context", mesh[1]}, {"model", mesh[2]}};
  config.sharding.mode = mode;
  config.sharding.in = config.sharding.out = PartitionSpec{{{"data"}, {"context"}}};
  return config;
}

const std::vector<std::string>& decoders() {
  static const std::vector<std::string> presets{"llama_tiny",   "qwen3_tiny",       "gemma3_tiny",
                                                "mixtral_tiny", "deepseek_v3_tiny", "gpt_oss_tiny"};
  return presets;
}

}  // namespace

class ContextTest : public QObject {
  Q_OBJECT

 private slots:
  // Law 1: rotary positions, causal masks and windows by positions in the whole sequence, losses over parts of it.
  void every_mesh_trains_as_one_device_data() {
    QTest::addColumn<QString>("preset");
    QTest::addColumn<QList<qint64>>("sizes");
    QTest::addColumn<bool>("as_written");
    for (const std::string& preset : decoders()) {
      for (const std::vector<int64_t>& mesh : meshes_of(3)) {
        if (mesh[1] == 1 || mesh[2] > 2) continue;
        for (LayoutMode mode : {LayoutMode::fastest, LayoutMode::as_written}) {
          QTest::newRow(text_of(preset, mesh, mode).c_str())
              << QString::fromStdString(preset) << QList<qint64>(mesh.begin(), mesh.end())
              << (mode == LayoutMode::as_written);
        }
      }
    }
  }
  void every_mesh_trains_as_one_device() {
    QFETCH(QString, preset);
    QFETCH(QList<qint64>, sizes);
    QFETCH(bool, as_written);
    const std::string name = preset.toStdString();
    const LayoutMode mode = as_written ? LayoutMode::as_written : LayoutMode::fastest;
    const Plan plan = compile({run_of(name, {sizes.begin(), sizes.end()}, mode), reference_host()});
    const ThreadTraining training = train_in_threads(plan, serial_steps);
    compare_with_serial(training, serial_training(system_preset(name)), 1e-3, is_key_bias);
    compare_with_prediction(training, plan);
  }

  // Of each op that is as long as the sequence a device works on its part; keys and values alone are whole.
  void queries_stay_split_and_keys_are_gathered() {
    for (const std::string& preset : decoders()) {
      const Plan plan = compile({run_of(preset, {1, 4, 1}, LayoutMode::as_written), reference_host()});
      int attentions = 0;
      for (const Instruction& instruction : plan.instructions()) {
        const Compute* compute = instruction.as<Compute>();
        if (!compute || plan.graph->ops[instruction.op].definition->name() != "attention") continue;
        ++attentions;
        const auto length = [&](int operand) { return plan.program.values[compute->operands[operand]].local_shape[1]; };
        QCOMPARE(length(0), int64_t{4});
        QCOMPARE(length(1), int64_t{16});
        QCOMPARE(length(2), int64_t{16});
      }
      QVERIFY2(attentions > 0, preset.c_str());
      for (const ProgramValue& value : plan.program.values) {
        const bool logits = value.graph_value == plan.graph->outputs.at("logits");
        if (logits) QCOMPARE(value.local_shape[1], int64_t{4});
      }
    }
  }
};

REGISTER_TEST(ContextTest)

}  // namespace context_test

#include "context_test.moc"
