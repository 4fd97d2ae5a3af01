#include <QJsonArray>
#include <cmath>

#include "tests/cli/preset_runs.h"

namespace pipeline_ranks_test {

using namespace shardscope;

namespace {

QStringList set(const QStringList& assignments) {
  QStringList arguments;
  for (const QString& assignment : assignments) arguments << "--set" << assignment;
  return arguments;
}

}  // namespace

// Laws 1 and 5 on real MPI ranks. The axis of stages is the last: rank r is of stage r modulo their number.
class PipelineRanksTest : public QObject {
  Q_OBJECT

 private slots:
  void stages_on_ranks_use_what_was_planned_and_learn_as_one_rank_does_data() {
    QTest::addColumn<QString>("name");
    QTest::addColumn<QStringList>("settings");
    const auto add = [](const QString& name, const QStringList& settings) {
      QTest::newRow(qPrintable((QStringList{name} + settings).join(' '))) << name << settings;
    };
    add("workshop_gpipe", {});
    add("workshop_1f1b", {});
    add("workshop_interleaved", {});
    add("workshop_zero_bubble", {});
    add("workshop_gpipe", {"mesh.data=2", "schedule.microbatches=8", "sharding.zero.stage=2"});
    add("workshop_1f1b", {"mesh.data=2", "sharding.zero.stage=1"});
    add("workshop_interleaved", {"mesh.data=2", "sharding.zero.stage=3"});
    add("workshop_zero_bubble", {"mesh.data=2", "schedule.microbatches=8"});
  }
  void stages_on_ranks_use_what_was_planned_and_learn_as_one_rank_does() {
    QFETCH(QString, name);
    QFETCH(QStringList, settings);
    const QJsonArray stages = planned(set(settings), name)["pipeline"].toObject()["stages"].toArray();
    QVERIFY(stages.size() > 1);
    const QList<QJsonObject> steps = trained(set(settings), 3, name),
                             alone = trained(set({"mesh.pipeline=1", "schedule.microbatches=1"}), 3, name);
    QCOMPARE(steps.size(), 3);
    QCOMPARE(alone.size(), 3);
    for (int i = 0; i < 3; ++i) {
      const double loss = alone[i]["loss"].toDouble();
      QVERIFY2(std::abs(steps[i]["loss"].toDouble() - loss) < 1e-4 * std::abs(loss), qPrintable(QString::number(loss)));
      for (const QJsonValue& value : steps[i]["ranks"].toArray()) {
        const QJsonObject rank = value.toObject();
        const QJsonObject stage = stages[rank["rank"].toInt() % stages.size()].toObject();
        QCOMPARE(rank["arena_bytes"].toInteger(), stage["memory"].toInteger());
        QCOMPARE(rank["wire_bytes_sent"].toDouble(), stage["wire_bytes_per_device"].toDouble());
      }
    }
  }
};

REGISTER_PROGRAM_TEST(PipelineRanksTest)

}  // namespace pipeline_ranks_test

#include "pipeline_ranks_test.moc"
