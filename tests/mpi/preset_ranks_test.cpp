#include <QJsonArray>
#include <cmath>

#include "tests/cli/preset_runs.h"
#include "tests/laws/serial_training.h"

namespace preset_ranks_test {

using namespace shardscope;

namespace {

constexpr double mebibyte = 1024.0 * 1024.0;

}  // namespace

// Law 5 on real MPI ranks, with the preset as it is.
class PresetRanksTest : public QObject {
  Q_OBJECT

 private slots:
  void eight_ranks_use_what_was_planned_data() {
    QTest::addColumn<QString>("mode");
    QTest::newRow("fastest") << "sharding.mode=fastest";
    QTest::newRow("as_written") << "sharding.mode=as_written";
  }
  void eight_ranks_use_what_was_planned() {
    QFETCH(QString, mode);
    QJsonObject plan = planned({"--set", mode});
    QList<QJsonObject> steps = trained({"--set", mode}, 2);
    QCOMPARE(steps.size(), 2);
    QVERIFY(std::abs(steps[0]["loss"].toDouble() - 7.567238807678223) < 1e-4 * 7.567);  // JAX, from the golden file
    QVERIFY(std::abs(steps[1]["loss"].toDouble() - 7.3929443359375) < 1e-4 * 7.393);
    for (const QJsonObject& step : steps) {
      QJsonArray ranks = step["ranks"].toArray();
      QCOMPARE(ranks.size(), 8);
      for (const QJsonValue& value : ranks) {
        QJsonObject rank = value.toObject();
        QJsonObject memory = plan["memory"].toObject();
        QCOMPARE(rank["arena_bytes"].toInteger(), memory["total"].toInteger());
        QCOMPARE(rank["parameter_bytes"].toInteger(), memory["parameters"].toInteger());
        QCOMPARE(rank["optimizer_bytes"].toInteger(), memory["optimizer"].toInteger());
        QCOMPARE(rank["wire_bytes_sent"].toDouble(), plan["wire_bytes_per_device"].toDouble());
        QVERIFY(rank["moved_bytes"].toDouble() > rank["wire_bytes_sent"].toDouble());
        // Of the heap, oneDNN's generated code is most: some 60 KiB for each shape of a product.
        double heap = rank["heap_bytes"].toDouble();
        QVERIFY2(heap < (mode.endsWith("fastest") ? 1.25 : 1.5) * mebibyte, qPrintable(QString::number(heap)));
        QVERIFY(heap - steps[0]["ranks"].toArray()[rank["rank"].toInt()].toObject()["heap_bytes"].toDouble() <
                16 * 1024);
      }
    }
  }

  // Laws 1 and 5 together; the one device is this process.
  void systems_on_eight_ranks_use_what_was_planned_and_learn_as_one_does_data() {
    QTest::addColumn<QString>("name");
    for (const test::SystemPreset& one : test::system_presets())
      QTest::newRow(one.name.c_str()) << QString(one.name.c_str());
  }
  void systems_on_eight_ranks_use_what_was_planned_and_learn_as_one_does() {
    QFETCH(QString, name);
    const test::SystemPreset& system = test::system_preset(name.toStdString());
    QStringList eight;
    for (const std::string& assignment : system.small) eight << "--set" << QString::fromStdString(assignment);
    const QJsonObject plan = planned(eight, name);
    const std::vector<double> alone = test::losses_of(test::serial_training(system));
    const QList<QJsonObject> steps = trained(eight, static_cast<int>(alone.size()), name);
    QCOMPARE(steps.size(), std::ssize(alone));
    QCOMPARE(steps.size(), 3);
    for (int i = 0; i < steps.size(); ++i) {
      const double loss = alone[static_cast<size_t>(i)];
      QVERIFY2(std::abs(steps[i]["loss"].toDouble() - loss) < 1e-4 * std::abs(loss), qPrintable(QString::number(loss)));
      for (const QJsonValue& value : steps[i]["ranks"].toArray()) {
        const QJsonObject rank = value.toObject();
        QCOMPARE(rank["arena_bytes"].toInteger(), plan["memory"].toObject()["total"].toInteger());
        QCOMPARE(rank["wire_bytes_sent"].toDouble(), plan["wire_bytes_per_device"].toDouble());
      }
    }
  }

  void one_rank_keeps_its_heap_small_and_does_not_grow() {
    QStringList alone{"--set", "mesh.data=1", "--set", "mesh.model=1"};
    QList<QJsonObject> steps = trained(alone, 3);
    QCOMPARE(steps.size(), 3);
    auto heap = [&](int step) { return steps[step]["ranks"].toArray()[0].toObject()["heap_bytes"].toDouble(); };
    QVERIFY2(heap(2) < 1.25 * mebibyte, qPrintable(QString::number(heap(2))));
    QVERIFY(heap(2) - heap(0) < 16 * 1024);
  }
};

REGISTER_PROGRAM_TEST(PresetRanksTest)

}  // namespace preset_ranks_test

#include "preset_ranks_test.moc"
