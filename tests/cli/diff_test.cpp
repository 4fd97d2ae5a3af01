#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QTemporaryDir>
#include <QtTest>
#include <cmath>

#include "tests/cli/small_run.h"

namespace diff_test {

using namespace shardscope;

namespace {

QJsonObject json(const ProgramResult& result) { return QJsonDocument::fromJson(result.output.toUtf8()).object(); }

QByteArray content(const QString& path) {
  QFile file(path);
  return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray();
}

QStringList paths(const QJsonArray& settings) {
  QStringList list;
  for (const QJsonValue& setting : settings) list += setting["path"].toString();
  return list;
}

}  // namespace

class DiffTest : public QObject {
  Q_OBJECT

  QTemporaryDir folder_;

  QString record(const QString& name, const QStringList& more) {
    const QString path = folder_.filePath(name);
    const ProgramResult result =
        shardrun(QStringList{"train"} + small + more + QStringList{"--set", "steps=6", "--record", path});
    return result.code == 0 ? path : result.errors;
  }

 private slots:
  void two_run_files_differ_in_what_was_set() {
    const QStringList files = {preset("workshop_gpipe"), preset("workshop_1f1b")};
    const ProgramResult result = shardrun({"diff", files[0], files[1], "--json"});
    QCOMPARE(result.code, 0);
    const QJsonObject reported = json(result);
    QCOMPARE(paths(reported["settings"].toArray()), QStringList{"pipeline.schedule"});
    double change = 0;
    for (const QJsonValue& time : reported["times"].toArray())
      change += time["after"].toDouble() - time["before"].toDouble();
    const QJsonObject step = reported["seconds_per_step"].toObject();
    QVERIFY(std::abs(change - (step["after"].toDouble() - step["before"].toDouble())) < 1e-9);
    QVERIFY(!reported.contains("measured"));
    const ProgramResult text = shardrun({"diff", files[0], files[1]});
    QCOMPARE(text.code, 0);
    QVERIFY2(text.output.startsWith("Predicted step: ") && text.output.contains("pipeline.schedule"),
             qPrintable(text.output));
  }

  void two_recorded_runs_differ_in_losses_and_step_times() {
    const QString one = record("one", {}), other = record("other", {"--set", "optimizer.learning_rate=0.01"});
    QVERIFY2(QFileInfo(one).isDir() && QFileInfo(other).isDir(), qPrintable(one + other));
    const QJsonObject reported = json(shardrun({"diff", one, other, "--json"}));
    QCOMPARE(paths(reported["settings"].toArray()), QStringList{"optimizer.learning_rate"});
    const QJsonObject measured = reported["measured"].toObject();
    QCOMPARE(measured["steps"].toInt(), 6);
    QCOMPARE(measured["before"]["count"].toInt(), 5);
    const QJsonArray metrics = measured["metrics"].toArray();
    const auto loss = std::ranges::find_if(metrics, [](const QJsonValue& metric) { return metric["name"] == "loss"; });
    QVERIFY(loss != metrics.end());
    const QJsonObject differing = loss->toObject();
    QCOMPARE(differing["first_step"].toInt(), 1);  // the first loss is of equal parameters
    QVERIFY(differing["largest_difference"].toDouble() > 0);
    QVERIFY(!measured["times"].toArray().isEmpty());
    const QJsonObject same = json(shardrun({"diff", one, one, "--json"}));
    QVERIFY(same["settings"].toArray().isEmpty());
    QCOMPARE(same["measured"]["difference"]["mean_ms"].toDouble(), 0.0);
    const ProgramResult text = shardrun({"diff", one, other});
    QVERIFY2(text.output.contains("ms a step (95 %)"), qPrintable(text.output));
  }

  void of_one_step_no_difference_is_claimed() {
    const QString one = record("few_one", {"--steps", "2"}), other = record("few_other", {"--steps", "2"});
    QVERIFY2(QFileInfo(one).isDir() && QFileInfo(other).isDir(), qPrintable(one + other));
    const QJsonObject measured = json(shardrun({"diff", one, other, "--json"}))["measured"].toObject();
    for (const char* mean : {"before", "after", "difference"}) {
      QCOMPARE(measured[mean]["count"].toInt(), 1);
      QVERIFY2(measured[mean]["half_width_ms"].isNull(), mean);
    }
    const ProgramResult text = shardrun({"diff", one, other});
    QVERIFY2(text.output.contains("too few steps"), qPrintable(text.output));
    QVERIFY(!text.output.contains("+-") && !text.output.contains("faster") && !text.output.contains("slower"));
  }

  void steps_that_a_restart_did_anew_count_once() {
    const QString one = record("restarted", {});
    QVERIFY2(QFileInfo(one).isDir(), qPrintable(one));
    QByteArray again;
    for (const QByteArray& line : content(one + "/messages.jsonl").split('\n')) {
      if (line.contains("\"message\":\"step\"")) again += line + '\n';
    }
    QFile messages(one + "/messages.jsonl");
    QVERIFY(messages.open(QIODevice::Append) && messages.write(again) > 0);
    messages.close();
    const QJsonObject measured = json(shardrun({"diff", one, one, "--json"}))["measured"].toObject();
    QCOMPARE(measured["steps"].toInt(), 6);
    for (const char* mean : {"before", "after", "difference"}) QCOMPARE(measured[mean]["count"].toInt(), 5);
  }

  void arrays_that_differ_otherwise_are_not_behind_one_name() {
    const QString other = folder_.filePath("dot2.json");
    QJsonObject run = json({0, QString::fromUtf8(content(preset("logical_dot_relu_dot"))), {}});
    QJsonObject sharding = run["sharding"].toObject();
    sharding["parameters"] =
        QJsonObject{{"params", QJsonObject{{"dot2", QJsonObject{{"kernel", QJsonArray{QJsonValue(), "model"}}}}}}};
    run["sharding"] = sharding;
    QFile file(other);
    QVERIFY(file.open(QIODevice::WriteOnly));
    file.write(QJsonDocument(run).toJson());
    file.close();
    const QJsonArray shardings =
        json(shardrun({"diff", preset("logical_dot_relu_dot"), other, "--json"}))["shardings"].toArray();
    QStringList arrays;
    for (const QJsonValue& one : shardings) arrays += one["array"].toString();
    QVERIFY2(arrays.contains("params/dot2/kernel"), qPrintable(arrays.join(' ')));
  }

  void a_recorded_run_and_a_run_file_can_be_compared() {
    const QString one = record("alone", {});
    const QJsonObject reported = json(shardrun({"diff", one, one + "/run_file.json", "--json"}));
    QVERIFY(reported["settings"].toArray().isEmpty());
    QVERIFY(reported["measured"].toObject().contains("before") && !reported["measured"].toObject().contains("after"));
  }

  void what_is_no_run_file_is_an_error_at_its_place() {
    const ProgramResult result = shardrun({"diff", preset("workshop_gpipe"), "/nowhere.json"});
    QCOMPARE(result.code, 2);
    QVERIFY2(result.errors.contains("/nowhere.json"), qPrintable(result.errors));
    QCOMPARE(shardrun({"diff", preset("workshop_gpipe")}).code, 2);
  }

  void what_next_lists_changes_with_their_prediction() {
    const ProgramResult result = shardrun({"plan", preset("tiny_lm_dp"), "--what-next"});
    QCOMPARE(result.code, 0);
    QVERIFY2(result.output.startsWith("Now ") && result.output.contains("Shorter steps") &&
                 result.output.contains("sharding.zero.stage=1"),
             qPrintable(result.output));
    QCOMPARE(shardrun({"plan", preset("tiny_lm_dp"), "--what-next", "--json"}).code, 2);
  }
};

REGISTER_PROGRAM_TEST(DiffTest)

}  // namespace diff_test

#include "diff_test.moc"
