#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <QDir>
#include <QFile>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QTemporaryDir>
#include <QtTest>

#include "engine/machine/host_machine.h"
#include "engine/machine/machine_file.h"
#include "engine/session/recorded_run.h"
#include "tests/cli/small_run.h"
#include "tests/cli/terminal.h"
#include "tests/export/event_reader.h"

namespace export_test {

using namespace shardscope;

namespace {

QByteArray bytes_of(const QString& path) {
  QFile file(path);
  return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray();
}

QStringList names_in(const QString& path) {
  return QDir(path).entryList(QDir::AllEntries | QDir::Hidden | QDir::System | QDir::NoDotAndDotDot, QDir::Name);
}

}  // namespace

class ExportTest : public QObject {
  Q_OBJECT

  QTemporaryDir folder_;
  QString record_ = folder_.filePath("record");
  QString run_file_ = record_ + "/run_file.json";
  QString path(const QString& name) const { return folder_.filePath(name); }
  ProgramResult trained_;

 private slots:
  void initTestCase() {
    trained_ = shardrun(QStringList{"train"} + small +
                        QStringList{"--steps", "4", "--record", record_, "--tensorboard", path("logs"), "--jsonl",
                                    path("steps.jsonl")});
    QVERIFY2(trained_.code == 0, qPrintable(trained_.errors));
  }

  void a_run_is_recorded_with_its_steps_and_traces() {
    const RecordedRun run(record_.toStdString());
    int steps = 0, finished = 0;
    run.replay([&](const Message& message) {
      steps += std::holds_alternative<StepMessage>(message);
      if (auto* end = std::get_if<FinishedMessage>(&message)) finished += end->steps == 4;
    });
    QCOMPARE(steps, 4);
    QCOMPARE(finished, 1);
    QCOMPARE(run.traces().size(), size_t{3});
    QCOMPARE(run.hello().ranks, 2);
    const ProgramResult again =
        shardrun(QStringList{"train"} + small + QStringList{"--steps", "1", "--record", record_});
    QVERIFY(again.code == 2 && again.output.isEmpty() && again.errors.contains("there is a record of a run"));
  }

  void the_run_file_and_the_machine_of_a_record_are_those_of_the_run() {
    const ProgramResult result =
        shardrun({"train", record_ + "/run_file.json", "--machine", record_ + "/machine.json"});
    QCOMPARE(losses(result.output), losses(trained_.output));
  }

  void the_lines_of_a_record_are_those_of_the_run() {
    const ProgramResult result = shardrun({"export", record_, "--to", "jsonl", path("again.jsonl")});
    QVERIFY2(result.code == 0 && result.output.isEmpty(), qPrintable(result.errors));
    QCOMPARE(bytes_of(path("again.jsonl")), bytes_of(path("steps.jsonl")));
    QVERIFY2(result.errors.startsWith(path("again.jsonl") + ": ") && result.errors.contains("4 steps"),
             qPrintable(result.errors));
  }

  void tensorboard_was_reported_live_what_is_exported_later() {
    QCOMPARE(shardrun({"export", record_, "--to", "tensorboard", path("later.tfevents")}).code, 0);
    const QStringList files = names_in(path("logs"));
    QCOMPARE(files.size(), 1);
    const auto live = test::read_events(bytes_of(path("logs/" + files[0])).toStdString());
    const auto later = test::read_events(bytes_of(path("later.tfevents")).toStdString());
    QCOMPARE(live.size(), size_t{5});
    QCOMPARE(later.size(), live.size());
    for (size_t i = 0; i < live.size(); ++i) {
      QCOMPARE(live[i].step, later[i].step);
      QCOMPARE(live[i].scalars, later[i].scalars);
    }
  }

  void a_recorded_step_is_a_process_of_its_own_on_the_time_line() {
    QCOMPARE(shardrun({"export", record_, "--to", "perfetto", path("trace.json"), "--trace", "slowest"}).code, 0);
    const QJsonObject trace = QJsonDocument::fromJson(bytes_of(path("trace.json"))).object();
    QMap<int, double> ends;  // by process
    int waits = 0;
    for (const QJsonValue& event : trace["traceEvents"].toArray()) {
      const double end = event["ts"].toDouble() + event["dur"].toDouble();
      ends[event["pid"].toInt()] = std::max(ends[event["pid"].toInt()], end);
      waits += event["cat"].toString() == "wait";
    }
    QCOMPARE(ends.keys(), (QList<int>{1, 2}));
    QVERIFY(ends[1] > 0 && ends[2] > 0 && waits > 0);
  }

  void tables_go_to_any_file_or_pipe() {
    const ProgramResult result = shardrun(QStringList{"export"} + small + QStringList{"--to", "csv", "/dev/stdout"});
    QVERIFY2(result.code == 0, qPrintable(result.errors));
    QVERIFY(result.output.startsWith("stage,position,kind,axes,"));
    const ProgramResult memory = shardrun({"export", record_, "--to", "tsv", "--page", "memory", path("memory.tsv")});
    QVERIFY2(memory.code == 0, qPrintable(memory.errors));
    QVERIFY(bytes_of(path("memory.tsv")).startsWith("stage\tbuffer\t"));
  }

  void what_is_wrong_is_said_with_its_place_and_nothing_is_left_data() {
    QTest::addColumn<QStringList>("arguments");
    QTest::addColumn<QString>("said");
    const QString out = path("wrong");
    QTest::newRow("kind") << QStringList{"--to", "perfeto", out} << "--to perfeto: 'perfeto' is nothing that";
    QTest::newRow("page") << QStringList{"--to", "csv", "--page", "memry", out} << "did you mean 'memory'";
    QTest::newRow("run") << QStringList{"--to", "jsonl", out} << "--record DIR";
    QTest::newRow("no place") << QStringList{"--to", "csv", path("none/x")}
                              << path("none/x") + ": cannot write: No such";
    QTest::newRow("read-only") << QStringList{"--to", "csv", "/proc/x"} << "/proc/x: cannot write: ";
    QTest::newRow("full") << QStringList{"--to", "csv", "/dev/full"} << "/dev/full: cannot write: No space left";
    QTest::newRow("input") << QStringList{"--force", "--to", "csv", preset("parallax_decoder")} << "would destroy";
    QTest::newRow("exists") << QStringList{"--to", "csv", path("steps.jsonl")} << "the file exists";
    for (const char* size : {"12", "0x600", "900x", "900x600x3", "900x99999", "-1x5", "9e2x600"})
      QTest::newRow(size) << QStringList{"--to", "svg", "--size", size, out}
                          << "a size is WIDTHxHEIGHT in pixels, such as 1280x800, each 1 to 16000";
    QTest::newRow("size") << QStringList{"--to", "csv", "--size", "900x600", out}
                          << "--size 900x600: csv is no picture";
    QTest::newRow("nothing") << QStringList{} << "a kind and a place to write to are needed";
  }
  void what_is_wrong_is_said_with_its_place_and_nothing_is_left() {
    QFETCH(QStringList, arguments);
    QFETCH(QString, said);
    const QStringList before = names_in(folder_.path());
    const ProgramResult result = shardrun(QStringList{"export"} + small + arguments);
    QCOMPARE(result.code, exit_bad_input);
    QVERIFY2(result.errors.contains(said), qPrintable(result.errors));
    QCOMPARE(names_in(folder_.path()), before);
  }

  void what_a_run_reads_is_never_written_over() {
    const QString specs = path("read.json"), data = path("read.txt"), machine = path("machine.json");
    save_machine(reference_host(), machine.toStdString());
    QCOMPARE(shardrun(QStringList{"export"} + small + QStringList{"--to", "specs", specs}).code, 0);
    QVERIFY(QFile::copy(SHARDSCOPE_SOURCE_DIR "/presets/tiny_text.txt", data));
    const QByteArray specs_before = bytes_of(specs), data_before = bytes_of(data), run_before = bytes_of(run_file_),
                     machine_before = bytes_of(machine);
    const QStringList with_specs = small + QStringList{"--specs", specs, "--force"};
    const QStringList with_data = {preset("tiny_text"), "--set", "data.path=" + data, "--set", "steps=1", "--force"};
    const QStringList recorded = {run_file_, "--force", "--record", record_};
    const QStringList on_machine = small + QStringList{"--machine", machine, "--force"};
    const QStringList machine_of_run = small + QStringList{"--set", "machine=" + machine, "--force"};
    const QStringList machine_and_more = machine_of_run + QStringList{"--set", "machine.device.cores=4"};
    for (const QStringList& arguments :
         {QStringList{"export"} + with_specs + QStringList{"--to", "csv", specs},
          QStringList{"export"} + with_data + QStringList{"--to", "csv", data},
          QStringList{"train"} + with_specs + QStringList{"--jsonl", specs},
          QStringList{"train"} + with_data + QStringList{"--parameters", data}, QStringList{"train"} + recorded,
          QStringList{"export"} + on_machine + QStringList{"--to", "csv", machine},
          QStringList{"export"} + machine_of_run + QStringList{"--to", "csv", machine},
          QStringList{"export"} + machine_of_run + QStringList{"--to", "specs", machine},
          QStringList{"train"} + machine_of_run + QStringList{"--jsonl", machine},
          QStringList{"train"} + machine_and_more + QStringList{"--parameters", machine}}) {
      const ProgramResult result = shardrun(arguments);
      QCOMPARE(result.code, exit_bad_input);
      QVERIFY2(result.errors.contains("would destroy"), qPrintable(result.errors));
    }
    QVERIFY(bytes_of(specs) == specs_before && bytes_of(data) == data_before && bytes_of(run_file_) == run_before);
    QVERIFY(bytes_of(machine) == machine_before);
  }

  void a_recorded_run_corrects_the_machine_that_it_was_planned_for() {
    Machine machine = reference_host();
    machine.device.instruction_latency = 0;
    double& rate = machine.device.products[Precision::f32].flops_per_second;
    rate = 1e6;  // a product takes a small part of what it is predicted to take
    const QString slow = path("slow.json"), record = path("slow_record"), fixed = path("fixed.json");
    save_machine(machine, slow.toStdString());
    const ProgramResult trained =
        shardrun(QStringList{"train"} + small + QStringList{"--machine", slow, "--steps", "4", "--record", record});
    QVERIFY2(trained.code == 0, qPrintable(trained.errors));
    const ProgramResult reported = shardrun({"calibrate", "--from", record});
    QVERIFY2(reported.code == 0 && reported.output.contains("matrix products in f32: "), qPrintable(reported.output));
    QVERIFY2(reported.errors.contains("--out FILE"), qPrintable(reported.errors));
    const ProgramResult written = shardrun({"calibrate", "--from", record, "--out", fixed});
    QVERIFY2(written.code == 0, qPrintable(written.errors));
    QVERIFY(load_machine(fixed.toStdString()).device.products.at(Precision::f32).flops_per_second > 20 * rate);
    QVERIFY(bytes_of(slow) == QByteArray::fromStdString(machine_text(machine)));
    for (const QString& taken : {fixed, record + "/machine.json"}) {
      const QByteArray before = bytes_of(taken);
      QCOMPARE(shardrun({"calibrate", "--from", record, "--out", taken}).code, exit_bad_input);
      QCOMPARE(bytes_of(taken), before);
    }
    QCOMPARE(shardrun({"calibrate", "--from", path("no record")}).code, exit_bad_input);
    QVERIFY(shardrun({"calibrate", "--out", path("x")}).errors.contains("--from"));
  }

  void a_training_that_is_refused_leaves_nothing() {
    QFile taken(path("taken"));
    QVERIFY(taken.open(QIODevice::WriteOnly));
    const QStringList before = names_in(folder_.path());
    const QStringList all = QStringList{"train"} + small + QStringList{"--steps",      "1",
                                                                       "--jsonl",      path("refused.jsonl"),
                                                                       "--parameters", path("refused.safetensors"),
                                                                       "--record"};
    QCOMPARE(shardrun(all + QStringList{record_}).code, exit_bad_input);
    QCOMPARE(names_in(folder_.path()), before);
    QVERIFY(shardrun(all + QStringList{path("refused"), "--socket", path("taken")}).code != 0);
    QCOMPARE(names_in(folder_.path()), before);
    const ProgramResult corrected = shardrun(all + QStringList{path("refused")});
    QVERIFY2(corrected.code == 0, qPrintable(corrected.errors));
  }

  void specs_of_a_file_are_those_of_the_run() {
    const QString other = path("other.json"), again = path("again.json");
    QFile file(other);
    QVERIFY(file.open(QIODevice::WriteOnly));
    file.write("{\"params/Embed_0/embedding\": [null, \"data\"]}");
    file.close();
    const QStringList with_specs = small + QStringList{"--specs", other};
    QCOMPARE(shardrun(QStringList{"export"} + with_specs + QStringList{"--to", "specs", again}).code, 0);
    const QJsonObject specs = QJsonDocument::fromJson(bytes_of(again)).object();
    QCOMPARE(specs["params/Embed_0/embedding"].toArray(), (QJsonArray{QJsonValue(), "data"}));
    const ProgramResult trained = shardrun(QStringList{"train"} + with_specs + QStringList{"--steps", "1"});
    QVERIFY2(trained.code == 0, qPrintable(trained.errors));
    QCOMPARE(losses(trained.output).front(), losses(trained_.output).front());
    QVERIFY(file.open(QIODevice::WriteOnly));
    file.write("{\n\"params/Embed_0/embeding\": []}");
    file.close();
    const ProgramResult refused = shardrun(QStringList{"plan"} + with_specs);
    QCOMPARE(refused.code, exit_bad_input);
    QVERIFY2(refused.errors.startsWith(other + ":2: params/Embed_0/embeding"), qPrintable(refused.errors));
  }

  void a_record_of_another_version_is_refused_at_its_file() {
    const QString other = path("other");
    QVERIFY(QDir().mkpath(other));
    for (const QString& name : names_in(record_)) QFile::copy(record_ + "/" + name, other + "/" + name);
    QByteArray header = bytes_of(other + "/record.json");
    QFile file(other + "/record.json");
    QVERIFY(file.open(QIODevice::WriteOnly));
    file.write(header.replace("\"version\":\"", "\"version\":\"99."));
    file.close();
    const ProgramResult result = shardrun({"export", other, "--to", "csv", path("wrong")});
    QCOMPARE(result.code, exit_bad_input);
    QVERIFY2(result.errors.startsWith(other + "/record.json: shardscope 99."), qPrintable(result.errors));
    QVERIFY(!QFile::exists(path("wrong")));
  }

  void pictures_and_tables_are_of_their_usual_page_unless_another_is_named() {
    const QString page = path("page");
    for (const char* kind : {"svg", "csv", "tsv"}) {
      const char* usual = kind == QByteArray("svg") ? "layout" : "collectives";
      const QStringList to = QStringList{"export"} + small + QStringList{"--force", "--to", kind, page};
      const ProgramResult unnamed = shardrun(to);
      QVERIFY2(unnamed.code == 0, qPrintable(unnamed.errors));
      const QByteArray text = bytes_of(page);
      QVERIFY(text.size() > 100);
      QCOMPARE(shardrun(to + QStringList{"--page", usual}).code, 0);
      QCOMPARE(bytes_of(page), text);
      QCOMPARE(shardrun(to + QStringList{"--page", "memory"}).code, 0);
      QVERIFY(bytes_of(page) != text);
    }
    QVERIFY(bytes_of(page).startsWith("stage\tbuffer\t"));
  }

  void a_picture_is_at_least_as_large_as_it_is_said() {
    const QStringList to = QStringList{"export"} + small + QStringList{"--force", "--to", "svg", path("sized.svg")};
    const auto view_box = [&](const QStringList& more) {
      [&] { QCOMPARE(shardrun(to + more).code, 0); }();
      return bytes_of(path("sized.svg"));
    };
    QVERIFY(view_box({}).contains("viewBox=\"0 0 1280 800\""));
    QVERIFY(view_box({"--size", "1700x1100"}).contains("viewBox=\"0 0 1700 1100\""));
    QVERIFY(!view_box({"--page", "collectives", "--size", "700x500"}).contains("viewBox=\"0 0 700 500\""));
  }

  void a_picture_of_a_record_is_of_the_step_that_is_chosen() {
    const QStringList to = {"export", record_, "--to", "svg", "--page", "timeline", "--force", path("timeline.svg")};
    QCOMPARE(shardrun(to).code, 0);
    QVERIFY(bytes_of(path("timeline.svg")).contains("median step</text>"));
    QCOMPARE(shardrun(to + QStringList{"--trace", "slowest"}).code, 0);
    QVERIFY(bytes_of(path("timeline.svg")).contains("slowest step</text>"));
    const ProgramResult curves = shardrun({"export", record_, "--to", "svg", "--page", "run", path("curves.svg")});
    QVERIFY2(curves.code == 0 && bytes_of(path("curves.svg")).contains(">Loss"), qPrintable(curves.errors));
    const ProgramResult plan = shardrun(QStringList{"export"} + small + to.mid(2) + QStringList{"--trace", "slowest"});
    QCOMPARE(plan.code, exit_bad_input);
    QVERIFY2(plan.errors.startsWith("--trace slowest: "), qPrintable(plan.errors));
    for (const char* page : {"memory", "layout"}) {
      const ProgramResult none =
          shardrun({"export", record_, "--to", "csv", "--page", page, path("none.csv"), "--trace", "slowest"});
      QCOMPARE(none.code, exit_bad_input);
      QVERIFY2(none.errors.startsWith("--trace slowest: csv of "), qPrintable(none.errors));
    }
  }

  void what_lasts_says_on_a_terminal_how_far_it_is_and_a_signal_leaves_nothing_data() {
    QTest::addColumn<QByteArray>("until");  // a signal is sent; empty: to the end
    QTest::newRow("to the end") << QByteArray();
    QTest::newRow("planning") << QByteArray("planning");
    QTest::newRow("writing") << QByteArray("writing");
  }
  void what_lasts_says_on_a_terminal_how_far_it_is_and_a_signal_leaves_nothing() {
    QFETCH(QByteArray, until);
    const QString out = path("lasting.json");
    const QStringList before = names_in(folder_.path());
    Terminal terminal;
    QVERIFY(terminal.is_open());
    QProcess process;
    process.setStandardErrorFile(terminal.path());
    process.setChildProcessModifier([] { ::signal(SIGINT, SIG_DFL); });
    process.start(QCoreApplication::applicationFilePath(),
                  {"export", preset("parallax_decoder"), "--set", "model.num_layers=1000", "--to", "perfetto", out});
    bool is_asked = false;
    while (!process.waitForFinished(20) && process.state() != QProcess::NotRunning) {
      if (!terminal.said().contains(until) || until.isEmpty() || is_asked) continue;
      is_asked = ::kill(static_cast<pid_t>(process.processId()), SIGINT) == 0;
    }
    const ProgramResult result = finish(process);
    const QByteArray said = terminal.said();
    if (until.isEmpty()) {
      QVERIFY2(result.code == 0 && said.contains("planning") && said.contains("writing") && said.contains(" %"),
               said.constData());
      QVERIFY2(said.contains("\r\033[K" + out.toUtf8() + ": ") && said.trimmed().endsWith(" s"), said.constData());
      QVERIFY(QFile::remove(out));
    } else {
      QCOMPARE(result.code, exit_by_signal + SIGINT);
      QVERIFY2(said.contains("cancelled; nothing was written"), said.constData());
    }
    QCOMPARE(names_in(folder_.path()), before);
  }

  void a_signal_cancels_and_leaves_nothing() {
    const QString pipe = path("pipe");
    QCOMPARE(::mkfifo(pipe.toUtf8().constData(), 0600), 0);
    QProcess process;
    process.setChildProcessModifier([] { ::signal(SIGINT, SIG_DFL); });
    process.start(QCoreApplication::applicationFilePath(), {"export", preset("workshop_3d"), "--to", "perfetto", pipe});
    const int reader = ::open(pipe.toUtf8().constData(), O_RDONLY);  // who writes is about to wait for what is read
    QVERIFY(reader >= 0);
    // One that comes between looking for it and waiting for the reader is only seen with the next; a second one while
    // the first is being answered would kill.
    do ::kill(static_cast<pid_t>(process.processId()), SIGINT);
    while (!process.waitForFinished(5000));
    const ProgramResult result = finish(process);
    ::close(reader);
    QCOMPARE(result.code, exit_by_signal + SIGINT);
    QVERIFY2(result.errors.contains("cancelled"), qPrintable(result.errors));
  }

  void ones_own_mpirun_leaves_the_same_record() {
    QProcess process;
    QStringList launch = {"--oversubscribe", "-n", "2"};
    if (::geteuid() == 0) launch.prepend("--allow-run-as-root");
    process.start("mpirun", launch + QStringList{QCoreApplication::applicationFilePath(), "train"} + small +
                                QStringList{"--steps", "4", "--record", path("own")});
    const ProgramResult result = finish(process);
    QVERIFY2(result.code == 0, qPrintable(result.errors));
    const auto metrics_of = [](const QString& folder) {
      std::vector<std::vector<MetricValue>> metrics;
      RecordedRun(folder.toStdString()).replay([&](const Message& message) {
        if (auto* step = std::get_if<StepMessage>(&message)) metrics.push_back(step->metrics);
      });
      return metrics;
    };
    QVERIFY(metrics_of(path("own")) == metrics_of(record_));
    QCOMPARE(shardrun({"export", path("own"), "--to", "perfetto", path("own.json")}).code, 0);
  }
};

REGISTER_PROGRAM_TEST(ExportTest)

}  // namespace export_test

#include "export_test.moc"
