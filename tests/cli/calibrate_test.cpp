#include <QFile>
#include <QJsonDocument>
#include <QTemporaryDir>
#include <QtTest>
#include <cmath>

#include "engine/machine/machine_file.h"
#include "engine/machine/machine_library.h"
#include "engine/machine/measured_rows.h"
#include "tests/cli/small_run.h"

namespace calibrate_test {

using namespace shardscope;

namespace {

QByteArray read(const QString& path) {
  QFile file(path);
  return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray();
}

const char* const table =
    "# measured on a Tuesday\n"
    "kind,seconds,dtype,m,k,n,collective,bytes,ranks,run_file\n"
    "product,0.00022,bf16,4096,4096,4096,,,,\n"
    "product,0.0016,bf16,8192,8192,8192,,,,\n"
    "collective,0.00004,,,,,all-reduce,65536,8,\n"
    "collective,0.0055,,,,,all-reduce,1073741824,8,\n";

}  // namespace

class CalibrateTest : public QObject {
  Q_OBJECT

 private slots:
  void initTestCase() {
    write("rows.csv", table);
    save_machine(*library_machine("dgx_h100"), path("ours.json").toStdString());
  }

  void rows_are_printed_beside_their_predictions_and_nothing_is_written_unasked() {
    const QStringList before = QDir(folder_.path()).entryList(QDir::Files);
    const ProgramResult result = calibrate({"--machine", "dgx_h100"});
    QVERIFY2(result.code == 0, qPrintable(result.errors));
    const QStringList row = result.output.split('\n').filter("rows.csv:3");
    QCOMPARE(row.size(), 1);
    QVERIFY2(row[0].simplified().endsWith("bf16 4096 x 4096 x 4096 220 \u00b5s 139 \u00b5s 220 \u00b5s \u00b10 %"),
             qPrintable(row[0]));
    QVERIFY2(result.output.simplified().contains("product 2 0.0 % "), qPrintable(result.output));
    QVERIFY2(result.output.contains("bf16: 2 shapes at 0.631 to 0.695 of the peak of 989.4 TFLOP/s"),
             qPrintable(result.output));
    QVERIFY2(result.errors.contains("--out FILE"), qPrintable(result.errors));
    QCOMPARE(QDir(folder_.path()).entryList(QDir::Files), before);
  }

  void the_document_shows_what_its_rows_print() {
    const QString chapter = QString::fromUtf8(read(SHARDSCOPE_SOURCE_DIR "/docs/predictions.md"))
                                .section("## A cluster of your own\n", 1)
                                .section("\n## ", 0, 0);
    const QStringList lines = chapter.split('\n');
    const auto block = [&](const QString& first) {
      QStringList found;
      for (qsizetype line = lines.indexOf(QRegularExpression("^    " + first + ".*")); line >= 0 && line < lines.size();
           ++line) {
        if (!lines[line].isEmpty() && !lines[line].startsWith("    ")) break;
        found += lines[line].mid(4);
      }
      return found.join('\n').trimmed();
    };
    const QString rows = block("kind,"), printed = block("Row ");
    QVERIFY(!rows.isEmpty() && !printed.isEmpty());
    QVERIFY(QDir(folder_.path()).mkdir("document"));
    write("document/rows.csv", rows.toUtf8() + '\n');
    const ProgramResult result = shardrun({"calibrate", "--machine", "dgx_h100", "--from", path("document/rows.csv")});
    QVERIFY2(result.code == 0, qPrintable(result.errors));
    QStringList expected = printed.split('\n'), actual = QString(result.output).remove(path("document/")).split('\n');
    for (QStringList* texts : {&expected, &actual}) {
      for (QString& text : *texts) text = text.simplified();
      texts->removeAll(QString());
    }
    QCOMPARE(actual, expected);
  }

  void the_new_file_is_a_machine_that_predicts_the_rows() {
    const QString out = path("fitted.json");
    const ProgramResult result = calibrate({"--machine", "dgx_h100", "--out", out});
    QVERIFY2(result.code == 0, qPrintable(result.errors));
    const Machine machine = load_machine(out.toStdString());
    RowPrices prices(machine);
    for (const MeasuredRow& row : load_measurements(path("rows.csv").toStdString())) {
      const auto* product = std::get_if<PricedProduct>(&row.work);
      const double seconds =
          product ? prices.seconds(*product) : prices.seconds(std::get<MeasuredCollective>(row.work));
      QVERIFY(std::abs(seconds / row.seconds - 1) < 1e-6);
    }
    QVERIFY(machine.levels[0].source.starts_with("fitted to 2 collectives of "));
    QCOMPARE(shardrun({"plan", preset("mintext_mlp"), "--machine", out}).code, 0);
    for (const QString& taken : {out, path("rows.csv"), path("ours.json")}) {
      const QByteArray bytes = read(taken);
      QCOMPARE(calibrate({"--machine", path("ours.json"), "--out", taken}).code, exit_bad_input);
      QCOMPARE(read(taken), bytes);
    }
  }

  void a_machines_file_is_replaced_by_keep_alone() {
    const QByteArray before = read(path("ours.json"));
    QCOMPARE(calibrate({"--machine", path("ours.json")}).code, 0);
    QCOMPARE(read(path("ours.json")), before);
    const ProgramResult kept = calibrate({"--machine", path("ours.json"), "--keep"});
    QVERIFY2(kept.code == 0, qPrintable(kept.errors));
    QCOMPARE(load_machine(path("ours.json").toStdString()).device.products.at(Precision::bf16).efficiency.size(),
             size_t{2});
  }

  void this_hosts_machine_and_those_of_the_library_are_never_written() {
    const QString own = path("own.json");
    save_machine(*library_machine("dgx_h100"), own.toStdString());
    const QByteArray before = read(own);
    qputenv("SHARDSCOPE_PROFILE", own.toUtf8());
    const auto unset = qScopeGuard([] { qunsetenv("SHARDSCOPE_PROFILE"); });
    QVERIFY(QFile::link(own, path("link.json")));
    for (const QString& machine : {QString("host"), QString("dgx_h100"), own, path("link.json")}) {
      const ProgramResult result = calibrate({"--machine", machine, "--keep"});
      QCOMPARE(result.code, exit_bad_input);
      QVERIFY2(result.errors.contains("--keep: ") && result.errors.contains("--out FILE"), qPrintable(result.errors));
    }
    QCOMPARE(read(own), before);
    QVERIFY(QFile::remove(own));
    for (const QString& out : {own, QDir::current().relativeFilePath(own)}) {
      const ProgramResult result = calibrate({"--machine", "dgx_h100", "--out", out});
      QVERIFY2(result.code == exit_bad_input && result.errors.contains("another file"), qPrintable(result.errors));
      QVERIFY(!QFile::exists(own));
    }
  }

  void training_steps_are_planned_and_become_the_machines_evidence() {
    const QString out = path("with_steps.json");
    QVERIFY(QFile::copy(preset("mintext_mlp"), path("run.json")));
    write("steps.csv", "kind,run_file,seconds\nstep,run.json,0.001\n");
    const ProgramResult result = calibrate({"--machine", "dgx_h100", "--from", path("steps.csv"), "--out", out});
    QVERIFY2(result.code == 0, qPrintable(result.errors));
    const double seconds = planned_seconds(path("run.json"), out);
    const Evidence evidence = load_machine(out.toStdString()).evidence;
    QCOMPARE(evidence.measurements, 1);
    QVERIFY(std::abs(evidence.time_error - std::abs(seconds / 0.001 - 1)) < 1e-9);
    write("steps.csv", "kind,run_file,seconds\nstep, none.json,0.001\n");
    const ProgramResult missing = calibrate({"--machine", "dgx_h100", "--from", path("steps.csv")});
    QVERIFY2(missing.code == exit_bad_input && missing.errors.contains("steps.csv:2:7: there is no run file"),
             qPrintable(missing.errors));
  }

  // At the line that names the file, with the place in it: of what is no JSON, no key, no value of a key, and no
  // plan; of all rows.
  void what_is_wrong_in_a_run_file_is_said_with_the_line_that_names_it() {
    const QByteArray run = read(preset("mintext_mlp"));
    const auto with = [&](const char* from, const char* to) {
      QByteArray text = run;
      return text.contains(from) ? text.replace(from, to) : QByteArray();
    };
    const std::vector<std::pair<QByteArray, QString>> wrong{
        {"{\n  \"model\": \n", ":3"},
        {with("\"batch_size\"", "\"bach_size\""), "data.bach_size: "},
        {with("\"dmid\": 32", "\"dmid\": 0"), "model.dmid: "},
        {with("\"in\": []", "\"in\": [\"nothing\"]"), "sharding.in"}};
    QByteArray rows = "seconds,kind,run_file\n0.001,step,sound.json\n";
    write("sound.json", run);
    for (size_t i = 0; i < wrong.size(); ++i) {
      const QString name = QString("wrong%1.json").arg(i);
      QVERIFY(!wrong[i].first.isEmpty());
      write(name, wrong[i].first);
      rows += "0.001,step," + name.toUtf8() + "\n";
    }
    write("wrong_runs.csv", rows);
    const QString out = path("of_wrong_runs.json");
    const ProgramResult result =
        shardrun({"calibrate", "--machine", "dgx_h100", "--from", path("wrong_runs.csv"), "--out", out});
    QCOMPARE(result.code, exit_bad_input);
    for (size_t i = 0; i < wrong.size(); ++i) {
      const QString at =
          QString("%1:%2:12: %3").arg(path("wrong_runs.csv")).arg(i + 3).arg(path(QString("wrong%1.json").arg(i)));
      const QStringList lines = result.errors.split('\n').filter(at);
      QVERIFY2(!lines.isEmpty() && lines[0].contains(wrong[i].second), qPrintable(at + "\n" + result.errors));
    }
    QVERIFY2(!result.errors.contains("sound.json"), qPrintable(result.errors));
    QVERIFY(!QFile::exists(out));
  }

  void shares_are_fitted_to_half_of_the_steps_and_the_other_half_is_held_out() {
    QByteArray rows = "kind,run_file,seconds\n";
    double before = 0;
    const QByteArray run = read(preset("mintext_mlp"));
    for (const char* size : {"1048576", "2097152", "4194304", "524288", "786432", "3145728"}) {
      const QString name = QString("batch%1.json").arg(size);
      write(name, QByteArray(run).replace("\"batch_size\": 32", QByteArray("\"batch_size\": ") + size));
      const double seconds = planned_seconds(path(name), "dgx_h100");
      QVERIFY(seconds > 0);
      before = 1 - 1 / 1.5;
      rows += "step," + name.toUtf8() + "," + QByteArray::number(1.5 * seconds, 'g', 12) + "\n";
    }
    write("many.csv", rows);
    const QString out = path("of_steps.json");
    const ProgramResult result =
        shardrun({"calibrate", "--machine", "dgx_h100", "--from", path("many.csv"), "--out", out});
    QVERIFY2(result.code == 0, qPrintable(result.errors));
    QCOMPARE(result.output.count("(held out)"), qsizetype{3});
    QVERIFY2(result.output.contains("step, held out"), qPrintable(result.output));
    const Evidence evidence = load_machine(out.toStdString()).evidence;
    QCOMPARE(evidence.measurements, 6);
    QVERIFY2(evidence.time_error < before / 3, qPrintable(result.output));
  }

  void what_cannot_be_fitted_is_said_with_its_line() {
    for (const auto& [rows, said] :
         {std::pair("product,0.0001,bf16,4096,4096,4096,,,,\n",
                    ":2: 1374 TFLOP/s is above the peak: the machine's peak for bf16 is 989.4"),
          {"collective,0.1,,,,,all-reduce,1048576,8,\n",
           ":2: rows of about one size do not tell the latency of level 'nvlink' from its"},
          {"collective,0.1,,,,,all-reduce,1048576,12,\n",
           ":2: a group of 12 fills a unit of level 'nvlink' only partly"},
          {"collective,0.1,,,,,all-reduce,-8,8,\n", ":2:31: '-8' is no bytes"}}) {
      write("wrong.csv", QByteArray("kind,seconds,dtype,m,k,n,collective,bytes,ranks,run_file\n") + rows);
      const ProgramResult result =
          shardrun({"calibrate", "--machine", "dgx_h100", "--from", path("wrong.csv"), "--out", path("wrong.json")});
      QCOMPARE(result.code, exit_bad_input);
      QVERIFY2(result.errors.contains(path("wrong.csv") + said), qPrintable(result.errors));
      QVERIFY(!QFile::exists(path("wrong.json")));
    }
    const ProgramResult nameless = shardrun({"calibrate", "--from", path("rows.csv")});
    QVERIFY2(nameless.code == exit_bad_input && nameless.errors.contains("--machine FILE"),
             qPrintable(nameless.errors));
    QVERIFY(shardrun({"calibrate", "--machine", "dgx_h100"}).errors.contains("--from"));
    QVERIFY(calibrate({"--machine", "dgx_h10"}).errors.contains("dgx_h100"));
  }

 private:
  QString path(const QString& name) const { return folder_.filePath(name); }
  void write(const QString& name, const QByteArray& text) const {
    QFile file(path(name));
    QVERIFY(file.open(QIODevice::WriteOnly));
    file.write(text);
  }
  ProgramResult calibrate(const QStringList& arguments) const {
    return shardrun(QStringList{"calibrate", "--from", path("rows.csv")} + arguments);
  }
  static double planned_seconds(const QString& run_file, const QString& machine) {
    const ProgramResult result = shardrun({"plan", run_file, "--machine", machine, "--json"});
    return QJsonDocument::fromJson(result.output.toUtf8())["seconds_per_step"].toDouble();
  }

  QTemporaryDir folder_;
};

REGISTER_PROGRAM_TEST(CalibrateTest)

}  // namespace calibrate_test

#include "calibrate_test.moc"
