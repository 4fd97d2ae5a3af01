#include <QtTest>

#include "tests/compile/system_preset.h"
#include "tests/parity/golden_training.h"
#include "tests/test_program.h"

namespace nnx_systems_test {

using namespace shardscope;
using namespace shardscope::test;

namespace {

// Cases of training; the file's first is of data.
QJsonArray golden() {
  QJsonArray cases = golden_file("nnx_systems").array();
  cases.removeFirst();
  return cases;
}

// Gradients that are zero but for rounding, which Adam turns into steps: of a fused bias the keys' part; where all
// tokens are alike, all weights of attention are, whatever queries and keys.
bool is_rounding(const std::string& name, const std::string& data) {
  return name.ends_with("qkv_proj/bias") || (data == "zeros" && (name.ends_with("/q") || name.ends_with("/k")));
}

}  // namespace

// Law 7: the documents' programs in JAX, Flax NNX and Optax, from seeds alone. The golden file is JAX's own output.
class NnxSystemsParityTest : public QObject {
  Q_OBJECT

 private slots:
  void losses_and_parameters_are_those_of_jax_data() {
    QTest::addColumn<int>("index");
    QTest::addColumn<bool>("alone");
    const QJsonArray cases = golden();
    for (int i = 0; i < cases.size(); ++i) {
      QStringList name{cases[i]["preset"].toString()};
      for (const QJsonValue& setting : cases[i]["settings"].toArray()) name << setting.toString();
      QTest::newRow(qPrintable(name.join(' '))) << i << false;
      QTest::newRow(qPrintable(name.join(' ') + " on one device")) << i << true;
    }
  }
  void losses_and_parameters_are_those_of_jax() {
    QFETCH(int, index);
    QFETCH(bool, alone);
    const QJsonValue expected = golden()[index];
    std::vector<std::string> settings;
    bool rounds = false;
    for (const QJsonValue& setting : expected["settings"].toArray()) {
      settings.push_back(setting.toString().toStdString());
      rounds |= setting.toString().contains("bf16");
    }
    const Tolerance tolerance{rounds ? 2e-2 : 1e-4, 1e-6};
    RunConfig config = system_run(expected["preset"].toString().toStdString(), settings);
    for (MeshAxis& axis : config.mesh_axes) axis.size = alone ? 1 : axis.size;
    const ThreadTraining training = train_in_threads(compile(config, DeviceProfile{}), expected["steps"].toInt());
    compare_losses(training, expected["losses"].toArray(), tolerance);
    const QJsonObject norms = expected["final_norms"].toObject();
    QCOMPARE(static_cast<qsizetype>(training.parameters.size()), norms.size());
    for (const auto& [name, values] : training.parameters) {
      if (is_rounding(name, config.data.name)) continue;
      compare_norm(name, values, norms[QString::fromStdString(name)].toDouble(-1), tolerance);
    }
  }
};

REGISTER_TEST(NnxSystemsParityTest)

}  // namespace nnx_systems_test

#include "nnx_systems_test.moc"
