#include <signal.h>
#include <unistd.h>

#include <QDir>
#include <QElapsedTimer>
#include <QFile>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QTemporaryDir>
#include <QtTest>
#include <algorithm>
#include <cstdio>
#include <functional>

#include "engine/machine/host_machine.h"
#include "engine/machine/machine_file.h"
#include "engine/session/processes.h"
#include "tests/cli/small_run.h"
#include "tests/patience.h"

namespace train_test {

using namespace shardscope;

namespace {

// As under one's own launcher.
ProgramResult mpirun_train(int ranks, const QStringList& arguments) {
  QProcess process;
  QStringList launch = {"--oversubscribe", "-n", QString::number(ranks)};
  if (::geteuid() == 0) launch.prepend("--allow-run-as-root");
  process.start("mpirun", launch + QStringList{QCoreApplication::applicationFilePath(), "train"} + arguments);
  return finish(process);
}

// Returns when it is under way, with the processes that it started. Whoever started the test may ignore signals.
std::vector<ProcessId> start_endless_training(QProcess& process, const QStringList& more = {}, int ignored = 0) {
  process.setChildProcessModifier([ignored] {
    for (int signal : {SIGINT, SIGTERM, SIGHUP}) ::signal(signal, signal == ignored ? SIG_IGN : SIG_DFL);
  });
  process.start(QCoreApplication::applicationFilePath(),
                QStringList{"train"} + small + QStringList{"--steps", "100000000"} + more);
  QByteArray output;
  while (!output.contains("Epoch 3") && process.waitForReadyRead(300'000)) output += process.readAllStandardOutput();
  return descendants(static_cast<int>(process.processId()));
}

char state_of(const ProcessId& process) { return look_at_process(process.pid).info.state; }

QStringList epochs(const QString& output) { return output.split('\n').filter(QRegularExpression("^Epoch ")); }

QList<QJsonObject> json_lines(const QString& path) {
  QFile file(path);
  QList<QJsonObject> objects;
  if (!file.open(QIODevice::ReadOnly)) return objects;
  for (const QByteArray& line : file.readAll().split('\n')) {
    if (!line.isEmpty()) objects << QJsonDocument::fromJson(line).object();
  }
  return objects;
}

// Session directories go where TMPDIR says.
struct Scratch {
  QTemporaryDir directory;
  Scratch() { qputenv("TMPDIR", directory.path().toUtf8()); }
  ~Scratch() { qunsetenv("TMPDIR"); }
  QStringList left() const {
    return QDir(directory.path()).entryList(QDir::AllEntries | QDir::System | QDir::NoDotAndDotDot);
  }
};

}  // namespace

class TrainTest : public QObject {
  Q_OBJECT

 private slots:
  void it_prints_the_documents_lines();
  void each_step_is_a_json_object_that_agrees_with_the_plan();
  void ones_own_mpirun_gives_the_same_training();
  void steps_that_cannot_be_written_end_it_with_a_code_under_any_launcher();
  void the_ranks_gather_the_parameters_into_a_file_under_any_launcher();
  void a_non_finite_loss_ends_it_under_any_launcher_unless_it_is_to_keep_going();
  void steps_added_to_a_file_that_ends_amid_a_line_begin_a_new_one();
  void a_world_that_does_not_fit_the_mesh_is_refused();
  void a_plan_that_does_not_fit_the_memory_is_refused_under_any_launcher_unless_forced();
  void a_signal_ends_it_with_its_code_and_leaves_nothing_data();
  void a_signal_ends_it_with_its_code_and_leaves_nothing();
  void a_signal_that_comes_with_the_runs_first_file_leaves_nothing();
  void a_signal_that_is_ignored_ends_nothing();
  void a_killed_rank_is_a_failed_run_that_leaves_nothing();
  void what_ends_a_run_is_said_once();
  void a_pause_stops_the_ranks_too_for_as_long_as_it_lasts();
  void a_pause_that_ends_at_once_stops_nothing();
  void a_lost_rank_is_replaced_and_the_lines_tell_so();
  void limits_that_a_run_would_break_are_said_before_it_starts_data();
  void limits_that_a_run_would_break_are_said_before_it_starts();
  void a_deadline_that_does_not_exist_is_refused();
  void all_ranks_plan_for_the_machine_of_the_run();
  void a_reader_that_goes_away_ends_the_run_as_it_ends_other_programs();
};

void TrainTest::it_prints_the_documents_lines() {
  Scratch scratch;
  ProgramResult result = shardrun(QStringList{"train"} + small + QStringList{"--steps", "2"});
  QCOMPARE(result.code, 0);
  QStringList lines = result.output_lines();
  QCOMPARE(lines.filter(QRegularExpression("^Parameter sharding: ")),
           (QStringList{"Parameter sharding: Embed_0, embedding",
                        "Parameter sharding: SelfAttentionBlock_1, MLP_0, Dense_1, kernel",
                        "Parameter sharding: SelfAttentionBlock_1, MLP_0, Dense_1, bias",
                        "Parameter sharding: Dense_0, MLP_0, kernel", "Parameter sharding: Dense_0, MLP_0, bias"}));
  QStringList sharded = lines.filter(QRegularExpression("^Sharded param "));
  QCOMPARE(sharded.size(), 36);
  QCOMPARE(sharded[0], QString("Sharded param ('params', 'Embed_0', 'embedding') with PartitionSpec('data', 'model')"));
  QCOMPARE(sharded[2], QString("Sharded param ('params', 'SelfAttentionBlock_0', 'LayerNorm_0', 'scale') with "
                               "PartitionSpec('model',)"));
  QCOMPARE(sharded[4], QString("Sharded param ('params', 'SelfAttentionBlock_0', 'SelfAttention_0', 'query', 'kernel') "
                               "with PartitionSpec(None, 'model', None)"));
  QCOMPARE(lines[0], QString("Parameter sharding: Embed_0, embedding"));
  QVERIFY(QRegularExpression("^Epoch 0: Loss = \\d+\\.\\d{4}, Accuracy = \\d+\\.\\d\\d%$")
              .match(lines[lines.size() - 2])
              .hasMatch());
  QVERIFY(lines.last().startsWith("Epoch 1: "));
  for (const QString& caption : lines.filter(QRegularExpression("^Parameter sharding: [^D].*kernel"))) {
    QString name = "params/" + caption.section(": ", 1).split(", ").join('/');
    QVERIFY(result.output.contains(caption + "\n" + shardrun(QStringList{"show"} + small + QStringList{name}).output));
  }
  QCOMPARE(scratch.left(), QStringList());
}

void TrainTest::each_step_is_a_json_object_that_agrees_with_the_plan() {
  Scratch scratch;
  QTemporaryDir directory;
  QString path = directory.filePath("out.jsonl");
  ProgramResult result = shardrun(QStringList{"train"} + small + QStringList{"--steps", "3", "--jsonl", path});
  QCOMPARE(result.code, 0);
  QJsonObject plan = QJsonDocument::fromJson(shardrun(QStringList{"plan", "--json"} + small).output.toUtf8()).object();
  QList<QJsonObject> steps = json_lines(path);
  QCOMPARE(steps.size(), 3);
  for (int i = 0; i < 3; ++i) {
    const QJsonObject& step = steps[i];
    QCOMPARE(step["step"].toInt(-1), i);
    char line[200];
    std::snprintf(line, sizeof line, "Epoch %d: Loss = %.4f, Accuracy = %.2f%%", i, step["loss"].toDouble(),
                  step["accuracy"].toDouble() * 100);
    QCOMPARE(epochs(result.output)[i], QString(line));
    QVERIFY(step["step_ms"].toDouble() > 0);
    QJsonArray ranks = step["ranks"].toArray();
    QCOMPARE(ranks.size(), 2);
    QJsonObject memory = plan["memory"].toObject();
    for (int number = 0; number < 2; ++number) {
      QJsonObject rank = ranks[number].toObject();
      QCOMPARE(rank["rank"].toInt(-1), number);
      QCOMPARE(rank["arena_bytes"].toDouble(), memory["total"].toDouble());
      QCOMPARE(rank["wire_bytes_sent"].toDouble(), plan["wire_bytes_per_device"].toDouble());
      QCOMPARE(rank["parameter_bytes"].toDouble(), memory["parameters"].toDouble());
      QCOMPARE(rank["optimizer_bytes"].toDouble(), memory["optimizer"].toDouble());
    }
  }
}

void TrainTest::ones_own_mpirun_gives_the_same_training() {
  QTemporaryDir directory;
  QString path = directory.filePath("out.jsonl");
  ProgramResult own = mpirun_train(2, small + QStringList{"--steps", "2", "--jsonl", path});
  QVERIFY2(own.code == 0, qPrintable(own.errors));
  ProgramResult started = shardrun(QStringList{"train"} + small + QStringList{"--steps", "2"});
  QCOMPARE(own.output, started.output);
  QList<QJsonObject> steps = json_lines(path);
  QCOMPARE(steps.size(), 2);
  QCOMPARE(steps[1]["ranks"].toArray().size(), 2);
}

void TrainTest::steps_that_cannot_be_written_end_it_with_a_code_under_any_launcher() {
  // Soon, too, and not after the last step.
  const QStringList to_full_disk = small + QStringList{"--steps", "100000000", "--jsonl", "/dev/full"};
  const ProgramResult started = shardrun(QStringList{"train"} + to_full_disk);
  QVERIFY(started.code != 0 && started.errors.contains("/dev/full: cannot write"));
  const ProgramResult own = mpirun_train(2, to_full_disk);
  QVERIFY(own.code != 0 && own.errors.contains("/dev/full: cannot write"));
}

void TrainTest::the_ranks_gather_the_parameters_into_a_file_under_any_launcher() {
  QTemporaryDir directory;
  const QString started = directory.filePath("started"), own = directory.filePath("own");
  QCOMPARE(shardrun(QStringList{"train"} + small + QStringList{"--steps", "2", "--parameters", started}).code, 0);
  const ProgramResult result = mpirun_train(2, small + QStringList{"--steps", "2", "--parameters", own});
  QVERIFY2(result.code == 0, qPrintable(result.errors));
  const auto bytes = [](const QString& path) {
    QFile file(path);
    return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray();
  };
  QVERIFY(bytes(started).contains("params/Embed_0/embedding"));
  QVERIFY(bytes(started) == bytes(own));
  QCOMPARE(QDir(directory.path()).entryList(QDir::Files), (QStringList{"own", "started"}));
  const ProgramResult again = shardrun(QStringList{"train"} + small + QStringList{"--steps", "1", "--parameters", own});
  QVERIFY(again.code == 2 && again.output.isEmpty() && again.errors.contains("the file exists"));
  QVERIFY(bytes(started) == bytes(own));
  QCOMPARE(shardrun(QStringList{"train"} + small + QStringList{"--steps", "1", "--parameters", own, "--force"}).code,
           0);
  QVERIFY(bytes(started) != bytes(own));
}

void TrainTest::a_non_finite_loss_ends_it_under_any_launcher_unless_it_is_to_keep_going() {
  QTemporaryDir directory;
  const QString ended = directory.filePath("ended"), kept = directory.filePath("kept");
  const QStringList diverging = {preset("mintext_mlp"),
                                 "--set",
                                 "mesh.model=1",
                                 "--set",
                                 "optimizer.learning_rate=1e6",
                                 "--steps",
                                 "6",
                                 "--jsonl"};
  const QString why = "loss is inf in training step 2: the first result that is not finite is that of '";
  const ProgramResult started = shardrun(QStringList{"train"} + diverging + QStringList{ended});
  QCOMPARE(started.code, exit_failed_run);
  QVERIFY2(started.errors.contains(why), qPrintable(started.errors));
  QCOMPARE(json_lines(ended).size(), 2);
  const ProgramResult own = mpirun_train(2, diverging + QStringList{ended, "--force"});
  QVERIFY(own.code != 0 && own.errors.contains(why));
  QCOMPARE(json_lines(ended).size(), 2);

  QCOMPARE(shardrun(QStringList{"train"} + diverging + QStringList{kept, "--keep-going"}).code, 0);
  QCOMPARE(mpirun_train(2, diverging + QStringList{kept, "--append", "--keep-going"}).code, 0);
  const QList<QJsonObject> steps = json_lines(kept);
  QCOMPARE(steps.size(), 12);
  QVERIFY(steps[1]["loss"].isDouble() && steps[2]["loss"].isNull() && steps[11]["loss"].isNull());
}

void TrainTest::steps_added_to_a_file_that_ends_amid_a_line_begin_a_new_one() {
  const QTemporaryDir folder;
  QFile file(folder.filePath("steps.jsonl"));
  QVERIFY(file.open(QIODevice::WriteOnly));
  file.write("{\"step\": 0}\n{\"step\": 1, \"lo");
  file.close();
  const QStringList more = small + QStringList{"--steps", "2", "--jsonl", file.fileName(), "--append"};
  const ProgramResult first = shardrun(QStringList{"train"} + more), second = mpirun_train(2, more);
  QVERIFY2(first.code == 0 && second.code == 0, qPrintable(first.errors + second.errors));
  QVERIFY2(first.errors.contains("was cut off"), qPrintable(first.errors));
  QVERIFY2(!second.errors.contains("was cut off"), qPrintable(second.errors));
  QVERIFY(file.open(QIODevice::ReadOnly));
  const QList<QByteArray> lines = file.readAll().split('\n');
  QCOMPARE(lines.size(), 7);
  QCOMPARE(lines[1], QByteArray("{\"step\": 1, \"lo"));
  for (int i : {0, 2, 3, 4, 5}) QVERIFY(QJsonDocument::fromJson(lines[i]).isObject());
}

void TrainTest::a_world_that_does_not_fit_the_mesh_is_refused() {
  const ProgramResult result = mpirun_train(3, small);
  QCOMPARE(result.code, 2);
  QCOMPARE(result.output, QString());
  QVERIFY2(result.errors.contains("2 ranks"), qPrintable(result.errors));
}

void TrainTest::a_plan_that_does_not_fit_the_memory_is_refused_under_any_launcher_unless_forced() {
  QTemporaryDir directory;
  Machine machine = reference_host();
  machine.device.memory_bytes = 1 << 20;
  save_machine(machine, directory.filePath("machine").toStdString());
  const QStringList train = small + QStringList{"--steps", "1", "--machine", directory.filePath("machine")};
  const ProgramResult alone = shardrun(QStringList{"train"} + train), own = mpirun_train(2, train);
  for (const ProgramResult& result : {alone, own}) {
    QCOMPARE(result.code, 2);
    QVERIFY2(result.errors.contains("iB together, the host has 1.00 MiB"), qPrintable(result.errors));
    QVERIFY2(result.errors.contains("--force"), qPrintable(result.errors));
  }
  QCOMPARE(own.errors.count("iB together"), 1);
  QCOMPARE(mpirun_train(2, train + QStringList{"--force"}).code, 0);
  const QStringList huge{"--set", "model.vocab_size=1000000000"};
  const ProgramResult measured = mpirun_train(2, small + huge);
  QCOMPARE(measured.code, 2);
  QVERIFY2(measured.errors.contains("iB together, the host has"), qPrintable(measured.errors));

  // Of a machine whose devices have enough, on this host.
  machine = find_machine("dgx_h100");
  machine.device.memory_bytes = int64_t{1} << 50;
  save_machine(machine, directory.filePath("cluster").toStdString());
  const QStringList elsewhere = small + huge + QStringList{"--machine", directory.filePath("cluster")};
  for (const ProgramResult& result : {shardrun(QStringList{"train"} + elsewhere), mpirun_train(2, elsewhere)}) {
    QCOMPARE(result.code, 2);
    QVERIFY2(result.errors.contains("iB together, the host has"), qPrintable(result.errors));
  }
}

void TrainTest::a_signal_ends_it_with_its_code_and_leaves_nothing_data() {
  QTest::addColumn<int>("signal");
  QTest::newRow("Ctrl-C") << SIGINT;
  QTest::newRow("SIGTERM") << SIGTERM;
  QTest::newRow("SIGHUP") << SIGHUP;
}

void TrainTest::a_signal_ends_it_with_its_code_and_leaves_nothing() {
  QFETCH(int, signal);
  Scratch scratch;
  QProcess process;
  const std::vector<ProcessId> started = start_endless_training(process);
  QVERIFY(started.size() >= 3);
  ::kill(static_cast<pid_t>(process.processId()), signal);
  const ProgramResult result = finish(process);
  QCOMPARE(result.code, 128 + signal);
  QVERIFY2(result.errors.contains("interrupt again to end at once"), qPrintable(result.errors));
  for (const ProcessId& one : started) QVERIFY(!is_alive(one));
  QCOMPARE(scratch.left(), QStringList());
}

void TrainTest::a_signal_that_is_ignored_ends_nothing() {
  QProcess process;
  start_endless_training(process, {}, SIGHUP);  // as nohup
  const auto pid = static_cast<pid_t>(process.processId());
  ::kill(pid, SIGHUP);
  process.readAllStandardOutput();
  QVERIFY(eventually([&] { return process.readAllStandardOutput().count("Epoch") > 3; }));
  ::kill(pid, SIGTERM);
  QCOMPARE(finish(process).code, 143);
}

void TrainTest::a_signal_that_comes_with_the_runs_first_file_leaves_nothing() {
  for (int trial = 0; trial < 8; ++trial) {
    Scratch scratch;
    QProcess process;
    process.start(QCoreApplication::applicationFilePath(),
                  QStringList{"train"} + small + QStringList{"--steps", "100000000"});
    QVERIFY(process.waitForStarted());
    while (scratch.left().isEmpty() && process.state() == QProcess::Running) {
    }
    ::kill(static_cast<pid_t>(process.processId()), SIGTERM);
    QCOMPARE(finish(process).code, 143);
    QCOMPARE(scratch.left(), QStringList());
  }
}

// At which instruction it was, but between two of them.
void TrainTest::a_killed_rank_is_a_failed_run_that_leaves_nothing() {
  const QRegularExpression killed("rank \\d was killed by SIGKILL in training step \\d+(, at '.+')?");
  bool is_placed = false;
  for (int trial = 0; trial < 8 && !is_placed; ++trial) {
    Scratch scratch;
    QProcess process;
    const std::vector<ProcessId> started = start_endless_training(process);
    QVERIFY(started.size() >= 3);
    ::kill(started.back().pid, SIGKILL);
    ProgramResult result = finish(process);
    QCOMPARE(result.code, 1);
    const QRegularExpressionMatch match = killed.match(result.errors);
    QVERIFY2(match.hasMatch(), qPrintable(result.errors));
    is_placed = match.hasCaptured(1);
    for (const ProcessId& one : started) QVERIFY(!is_alive(one));
    QCOMPARE(scratch.left(), QStringList());
  }
  QVERIFY(is_placed);
}

void TrainTest::what_ends_a_run_is_said_once() {
  const ProgramResult lost = shardrun({"train", preset("mintext_mlp"), "--set", "mesh.model=1", "--set",
                                       "optimizer.learning_rate=1e6", "--steps", "6"});
  QCOMPARE(lost.code, exit_failed_run);
  QVERIFY2(lost.errors.count("loss is inf in training step 2") == 1, qPrintable(lost.errors));
  QProcess process;
  const std::vector<ProcessId> started = start_endless_training(process);
  ::kill(started.back().pid, SIGTERM);
  const ProgramResult killed = finish(process);
  QVERIFY2(killed.error_lines().size() == 1, qPrintable(killed.errors));
}

void TrainTest::a_pause_stops_the_ranks_too_for_as_long_as_it_lasts() {
  Scratch scratch;
  QProcess process;
  const std::vector<ProcessId> started = start_endless_training(process, {"--deadline", "stopped=0.2"});
  const auto pid = static_cast<pid_t>(process.processId());
  ::kill(pid, SIGTSTP);
  const auto all_are = [&](bool stopped) {
    return std::ranges::all_of(started, [&](const ProcessId& one) { return (state_of(one) == 'T') == stopped; });
  };
  QVERIFY(eventually([&] { return look_at_process(pid).info.state == 'T'; }));
  QVERIFY(eventually([&] { return all_are(true); }));
  QElapsedTimer stopped;
  stopped.start();
  QVERIFY(eventually([&] { return stopped.elapsed() > 1000; }));  // five times the deadline
  process.readAllStandardOutput();
  ::kill(pid, SIGCONT);
  QVERIFY(eventually([&] { return process.readAllStandardOutput().count("Epoch") > 3; }));
  QVERIFY(eventually([&] { return all_are(false); }));  // lines may be of steps before the pause
  ::kill(pid, SIGINT);
  const ProgramResult result = finish(process);
  QVERIFY2(result.code == 130, qPrintable(result.errors));
  QCOMPARE(scratch.left(), QStringList());
}

void TrainTest::a_pause_that_ends_at_once_stops_nothing() {
  const Scratch scratch;
  QProcess process;
  const std::vector<ProcessId> started = start_endless_training(process);
  const auto pid = static_cast<pid_t>(process.processId());
  for (int i = 0; i < 20; ++i) {
    const int stopping = i % (static_cast<int>(started.size()) + 1);  // none yet, some, all of the processes
    ::kill(pid, SIGTSTP);
    QVERIFY(eventually([&] {
      return std::ranges::count_if(started, [](const ProcessId& one) { return state_of(one) == 'T'; }) >= stopping;
    }));
    ::kill(pid, SIGCONT);
    process.readAllStandardOutput();
    QVERIFY(eventually([&] { return process.readAllStandardOutput().contains("Epoch"); }));
  }
  ::kill(pid, SIGINT);
  const ProgramResult result = finish(process);
  QVERIFY2(result.code == 130, qPrintable(result.errors));
  QCOMPARE(scratch.left(), QStringList());
}

void TrainTest::a_lost_rank_is_replaced_and_the_lines_tell_so() {
  QTemporaryDir directory;
  const Scratch scratch;
  const QString path = directory.filePath("out.jsonl");
  QProcess process;
  const std::vector<ProcessId> started = start_endless_training(process, {"--max-restarts", "1", "--jsonl", path});
  ::kill(started.back().pid, SIGKILL);
  QByteArray output;
  QVERIFY(eventually([&] { return (output += process.readAllStandardOutput()).contains("Epoch 0:"); }));
  ::kill(static_cast<pid_t>(process.processId()), SIGTERM);
  const ProgramResult result = finish(process);
  QVERIFY2(result.code == 143, qPrintable(result.errors));
  QVERIFY2(result.errors.contains("starting again from step 0 (restart 1)"), qPrintable(result.errors));
  QVERIFY2(result.errors.contains("terminated after"), qPrintable(result.errors));
  int64_t expected = 0, restarts = 0;
  for (const QJsonObject& line : json_lines(path)) {
    if (line.contains("restart")) {
      ++restarts;
      expected = line["from_step"].toInteger(-1);
      QVERIFY(line["message"].toString().contains("was killed by SIGKILL"));
    } else {
      QCOMPARE(line["step"].toInteger(-1), expected++);
    }
  }
  QCOMPARE(restarts, 1);
  QCOMPARE(scratch.left(), QStringList());
}

void TrainTest::limits_that_a_run_would_break_are_said_before_it_starts_data() {
  QTest::addColumn<QString>("limit");
  QTest::newRow("open files") << "ulimit -n 32";
  QTest::newRow("file size") << "ulimit -f 100";
}

void TrainTest::limits_that_a_run_would_break_are_said_before_it_starts() {
  QFETCH(QString, limit);
  QProcess process;
  process.start(
      "sh", QStringList{"-c", limit + "; exec \"$@\"", "sh", QCoreApplication::applicationFilePath(), "train"} + small +
                QStringList{"--steps", "1"});
  const ProgramResult result = finish(process);
  QCOMPARE(result.code, exit_failed_run);
  QVERIFY2(result.errors.contains(limit.section(' ', 0, 1)), qPrintable(result.errors));
}

void TrainTest::a_deadline_that_does_not_exist_is_refused() {
  const ProgramResult result = shardrun(QStringList{"train"} + small + QStringList{"--deadline", "trainign=3"});
  QCOMPARE(result.code, exit_bad_input);
  QVERIFY2(result.errors.contains("did you mean 'training'"), qPrintable(result.errors));
}

// Each rank would find another machine in the file that its environment names.
void TrainTest::all_ranks_plan_for_the_machine_of_the_run() {
  QTemporaryDir directory;
  QVERIFY(QDir(directory.path()).mkdir("0") && QDir(directory.path()).mkdir("1"));
  Machine machine = reference_host();
  for (const char* rank : {"0", "1"}) {
    machine.device.instruction_latency *= 2;
    save_machine(machine, directory.filePath(rank).toStdString() + "/machine.json");
  }
  const QString script = "export SHARDSCOPE_PROFILE=$0/$OMPI_COMM_WORLD_RANK/machine.json; exec \"$@\"";
  QProcess process;
  QStringList launch = {"--oversubscribe", "-n", "2", "sh", "-c", script, directory.path()};
  if (::geteuid() == 0) launch.prepend("--allow-run-as-root");
  process.start("mpirun", launch + QStringList{QCoreApplication::applicationFilePath(), "train"} + small +
                              QStringList{"--steps", "1"});
  const ProgramResult result = finish(process);
  QVERIFY2(result.code == 0, qPrintable(result.errors));
}

void TrainTest::a_reader_that_goes_away_ends_the_run_as_it_ends_other_programs() {
  Scratch scratch;
  QProcess process;
  const QStringList script = {"-c", "{ \"$@\"; echo code $? >&2; } | head -n 1", "sh"};
  process.start("sh", script + QStringList{QCoreApplication::applicationFilePath(), "train"} + small +
                          QStringList{"--steps", "100000000"});
  ProgramResult result = finish(process);
  QCOMPARE(result.output, QString("Parameter sharding: Embed_0, embedding\n"));
  QVERIFY2(result.errors.endsWith("code 141\n") && !result.errors.contains("write"), qPrintable(result.errors));
  QCOMPARE(scratch.left(), QStringList());
}

REGISTER_PROGRAM_TEST(TrainTest)

}  // namespace train_test

#include "train_test.moc"
