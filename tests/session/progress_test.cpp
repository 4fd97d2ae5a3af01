#include "engine/session/progress.h"

#include <QTemporaryDir>
#include <QtTest>

using namespace shardscope;

namespace {

std::vector<StepMessage> steps_of(const std::vector<Message>& messages) {
  std::vector<StepMessage> steps;
  for (const Message& message : messages) {
    if (auto* step = std::get_if<StepMessage>(&message)) steps.push_back(*step);
  }
  return steps;
}

}  // namespace

class ProgressTest : public QObject {
  Q_OBJECT

 private slots:
  // From the ranks' files to the watcher's line and back.
  void metrics_arrive_whole_and_under_their_names_however_many_there_are() {
    for (size_t count : {size_t{0}, size_t{1}, size_t{2}, max_metrics}) {
      QTemporaryDir directory;
      const std::string path = directory.path().toStdString();
      std::vector<std::string> names;
      StepRecord record{7, 1.5, {1, 2, 3, 4, 5}, {}};
      std::vector<MetricValue> expected;
      for (size_t i = 0; i < count; ++i) {
        names.push_back("metric " + std::to_string(count - i));
        record.metrics[i] = 100.0 / static_cast<double>(i + 3);
        expected.push_back({names.back(), record.metrics[i]});
      }
      TelemetryWriter first(path, 0, 2), second(path, 1, 2);
      Progress progress(path, 2, {}, names);
      first.add_step(record);
      QVERIFY(steps_of(progress.poll()).empty());
      second.add_step(record);
      const std::vector<StepMessage> steps = steps_of(progress.poll());
      QCOMPARE(steps.size(), size_t{1});
      QVERIFY(steps[0].metrics == expected);
      QCOMPARE(steps[0].ranks.size(), size_t{2});
      for (const RankMeasurement& rank : steps[0].ranks) QVERIFY(rank.use == record.use);
      QVERIFY(std::get<StepMessage>(parse_message(to_json_line(steps[0]))) == steps[0]);
    }
  }
};

QTEST_APPLESS_MAIN(ProgressTest)
#include "progress_test.moc"
