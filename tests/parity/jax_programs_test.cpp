#include <QtTest>
#include <cmath>

#include "engine/machine/host_machine.h"
#include "tests/compile/system_preset.h"
#include "tests/laws/serial_training.h"
#include "tests/machine/host_rates.h"
#include "tests/parity/golden_training.h"
#include "tests/test_program.h"

namespace jax_programs_test {

using namespace shardscope;
using namespace shardscope::test;

namespace {

QJsonObject golden() { return golden_file("jax_programs").object(); }

RunConfig run_of(const QJsonValue& one) {
  std::vector<std::string> settings;
  for (const QJsonValue& setting : one["set"].toArray()) settings.push_back(setting.toString().toStdString());
  return system_run(one["preset"].toString().toStdString(), settings);
}

QString title(const QJsonValue& one) {
  QStringList words{one["preset"].toString()};
  for (const QJsonValue& setting : one["set"].toArray()) words << setting.toString();
  return words.join(' ');
}

}  // namespace

// Law 7: the documents' programs in JAX, Flax and Optax, from seeds alone. The golden file is JAX's own output.
class JaxProgramsParityTest : public QObject {
  Q_OBJECT

 private slots:
  void initial_parameters_are_those_of_flax_data() {
    QTest::addColumn<QString>("preset");
    for (const QString& preset : golden()["initial"].toObject().keys()) QTest::newRow(qPrintable(preset)) << preset;
  }
  void initial_parameters_are_those_of_flax() {
    QFETCH(QString, preset);
    const ThreadTraining start = train_in_threads(compile({system_run(preset.toStdString(), {}), reference_host()}), 0);
    compare_initial(start, golden()["initial"][preset].toObject());
  }

  // On one device, too, but for those at their preset's own size, which take longest.
  void losses_and_parameters_are_those_of_jax_data() {
    QTest::addColumn<int>("index");
    QTest::addColumn<bool>("alone");
    const QJsonArray runs = golden()["runs"].toArray();
    for (int i = 0; i < runs.size(); ++i) {
      QTest::newRow(qPrintable(title(runs[i]))) << i << false;
      if (title(runs[i]).contains("model.vocab_size"))
        QTest::newRow(qPrintable(title(runs[i]) + " on one device")) << i << true;
    }
  }
  void losses_and_parameters_are_those_of_jax() {
    QFETCH(int, index);
    QFETCH(bool, alone);
    const QJsonValue expected = golden()["runs"][index];
    RunConfig config = run_of(expected);
    for (MeshAxis& axis : config.mesh_axes) axis.size = alone ? 1 : axis.size;
    const int steps = expected["steps"].toInt();
    const ThreadTraining training = train_in_threads(compile({config, reference_host()}), steps);
    compare_losses(training, expected["losses"].toArray(), {1e-4});
    const QJsonObject finals = expected["final"].toObject();
    QCOMPARE(static_cast<qsizetype>(training.parameters.size()), finals.size());
    for (const auto& [name, values] : training.parameters) {
      if (name.ends_with("/key/bias")) {  // zero gradient but for rounding
        for (float value : values) QVERIFY2(std::abs(value) < 1e-3 * steps, name.c_str());
        continue;
      }
      compare_norm(name, values, finals[QString::fromStdString(name)].toDouble(-1), {1e-4});
    }
  }

  void layers_under_jax_checkpoint_and_made_again_here_have_the_losses_of_layers_kept() {
    const QJsonArray runs = golden()["runs"].toArray();
    const QString full = "schedule.rematerialise=\"full\"";
    int pairs = 0;
    for (const QJsonValue& again : runs) {
      QJsonArray set = again["set"].toArray();
      if (set.isEmpty() || set.last().toString() != full) continue;
      set.removeLast();
      const auto kept = std::ranges::find_if(
          runs, [&](const QJsonValue& run) { return run["preset"] == again["preset"] && run["set"].toArray() == set; });
      QVERIFY2(kept != runs.end(), qPrintable(title(again)));
      QCOMPARE(again["losses"].toArray(), kept->toObject()["losses"].toArray());
      RunConfig config = run_of(again);
      for (MeshAxis& axis : config.mesh_axes) axis.size = 1;
      const std::vector<double> losses = losses_of(train_in_threads(compile({config, reference_host()}), 10));
      config.schedule = {};
      QCOMPARE(losses, losses_of(train_in_threads(compile({config, reference_host()}), 10)));
      ++pairs;
    }
    QCOMPARE(pairs, 2);
  }

  // Laws 7 and 8.
  void as_written_moves_no_more_than_xla_on_any_machine() {
    Machine slow_links = reference_host(), many_cores = reference_host();
    test::copy_rate(slow_links) /= 100;
    many_cores.device.cores = 64;
    many_cores.device.instruction_latency *= 50;
    for (const QJsonValue& one : golden()["moved"].toArray()) {
      RunConfig config = run_of(one);
      config.sharding.mode = LayoutMode::as_written;
      const double xla = one["wire_bytes_per_device"].toDouble();
      const double moved = compile({config, reference_host()}).totals.wire_bytes_per_device;
      QVERIFY2(moved <= xla, qPrintable(QString("%1: %2, XLA %3").arg(title(one)).arg(moved).arg(xla)));
      for (const Machine& machine : {slow_links, many_cores}) {
        QCOMPARE(compile({config, machine}).totals.wire_bytes_per_device, moved);
      }
    }
  }

  void dropout_changes_the_losses_of_nnx_gpt2() {
    const auto loss = [](const char* deterministic) {
      const RunConfig config = system_run("nnx_gpt2", {deterministic, "mesh.batch=1", "mesh.model=1"});
      return value_of(train_in_threads(compile({config, reference_host()}), 1).steps[0].metrics, "loss");
    };
    QVERIFY(std::abs(loss("deterministic=true") - loss("deterministic=false")) > 1e-3);
  }
};

REGISTER_TEST(JaxProgramsParityTest)

}  // namespace jax_programs_test

#include "jax_programs_test.moc"
