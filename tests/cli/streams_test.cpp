#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <QFile>
#include <QTemporaryDir>
#include <QtTest>
#include <csignal>

#include "tests/cli/program.h"

namespace streams_test {

using namespace shardscope;

namespace {

struct Streams {
  std::function<void()> prepare;  // in the child, before it becomes shardrun

  ProgramResult run(const QStringList& arguments) const {
    QProcess process;
    process.setChildProcessModifier(prepare);
    process.start(QCoreApplication::applicationFilePath(), arguments);
    ProgramResult result = finish(process);
    if (process.exitStatus() == QProcess::CrashExit) result.code = exit_by_signal + process.exitCode();
    return result;
  }
};

void open_as(int descriptor, const char* path) {
  const int file = ::open(path, O_WRONLY);
  ::dup2(file, descriptor);
  ::close(file);
}

void break_pipe(int descriptor) {
  int ends[2];
  if (::pipe(ends) != 0) return;
  ::dup2(ends[1], descriptor);
  ::close(ends[0]);
  ::close(ends[1]);
}

// A pipe that is full, and that nobody reads.
class FullPipe {
 public:
  FullPipe() {
    if (::pipe2(ends_, O_CLOEXEC | O_NONBLOCK) != 0) qFatal("no pipe");
    const char byte = 'x';
    while (::write(ends_[1], &byte, 1) == 1) {
    }
    ::fcntl(ends_[1], F_SETFL, 0);
  }
  ~FullPipe() {
    for (int end : ends_) ::close(end);
  }
  FullPipe(const FullPipe&) = delete;
  int writer() const { return ends_[1]; }

 private:
  int ends_[2];
};

int lines_in(const QString& path) {
  QFile file(path);
  return file.open(QIODevice::ReadOnly) ? static_cast<int>(file.readAll().count('\n')) : 0;
}

const QStringList tiny_training = {"train", preset("mintext_mlp"), "--set", "mesh.model=1"};

QString file_of(const QTemporaryDir& folder, QString text, const QString& from, const QString& to) {
  const QString path = folder.filePath("run.json");
  QFile file(path);
  if (file.open(QIODevice::WriteOnly)) file.write(text.replace(from, to).toUtf8());
  return path;
}

QString decoder_text() {
  QFile file(preset("parallax_decoder"));
  return file.open(QIODevice::ReadOnly) ? QString::fromUtf8(file.readAll()) : QString();
}

bool has_control_characters(const QString& text) {
  return std::any_of(text.begin(), text.end(),
                     [](QChar c) { return c != '\n' && c.category() == QChar::Other_Control; });
}

// Behind a newline that was not quoted.
bool has_line_of_its_own(const QString& text, const QString& word) {
  const QStringList lines = text.split('\n');
  return std::any_of(lines.begin(), lines.end(), [&](const QString& line) { return line.startsWith(word); });
}

}  // namespace

class StreamsTest : public QObject {
  Q_OBJECT

 private slots:
  void a_reader_that_has_seen_enough_ends_the_program_as_it_ends_others();
  void output_that_cannot_be_written_is_an_error_with_its_reason();
  void an_error_that_nobody_can_read_is_still_exit_code_2();
  void a_closed_standard_stream_is_no_place_for_other_files();
  void a_name_from_a_file_gives_the_terminal_no_orders();
  void a_reader_that_has_stopped_stops_no_training();
  void steps_whose_reader_has_gone_are_said_and_no_success();
  void steps_whose_file_was_removed_or_truncated_are_said_and_no_success_data();
  void steps_whose_file_was_removed_or_truncated_are_said_and_no_success();
  void a_failed_run_that_nobody_can_be_reported_of_is_still_exit_code_1();
  void what_a_rank_says_gives_the_terminal_no_orders();
};

void StreamsTest::a_reader_that_has_seen_enough_ends_the_program_as_it_ends_others() {
  for (const QStringList& what : {QStringList{"plan"}, QStringList{"plan", "--json"}, QStringList{"plan", "--steps"}}) {
    const ProgramResult result = Streams{[] { break_pipe(1); }}.run(what + QStringList{preset("parallax_decoder")});
    QCOMPARE(result.errors, QString());
    QCOMPARE(result.code, exit_by_signal + SIGPIPE);
  }
  const ProgramResult ignoring = Streams{[] {
                                   break_pipe(1);
                                   ::signal(SIGPIPE, SIG_IGN);
                                 }}.run({"plan", preset("parallax_decoder")});
  QCOMPARE(ignoring.errors, QString("standard output: cannot write: Broken pipe\n"));
  QCOMPARE(ignoring.code, 1);
}

void StreamsTest::output_that_cannot_be_written_is_an_error_with_its_reason() {
  for (const QStringList& what : {QStringList{"plan", preset("parallax_decoder")}, QStringList{"plan", "--help"},
                                  QStringList{"show", "--mesh", "data=2", "--spec", "[]", "--shape", "4"}}) {
    const ProgramResult result = Streams{[] { open_as(1, "/dev/full"); }}.run(what);
    QCOMPARE(result.errors, QString("standard output: cannot write: No space left on device\n"));
    QCOMPARE(result.code, 1);
  }
}

void StreamsTest::an_error_that_nobody_can_read_is_still_exit_code_2() {
  const std::vector<std::function<void()>> ways = {[] { open_as(2, "/dev/full"); }, [] { ::close(2); },
                                                   [] {
                                                     break_pipe(2);
                                                     ::signal(SIGPIPE, SIG_IGN);
                                                   }};
  for (const auto& prepare : ways) {
    for (const QStringList& wrong : {QStringList{"plan", "no_such.json"}, QStringList{"plan", "--jsn"},
                                     QStringList{"train", preset("parallax_decoder"), "--jsonl", "/no/such/dir"}}) {
      QCOMPARE(Streams{prepare}.run(wrong).code, 2);
    }
  }
}

void StreamsTest::a_closed_standard_stream_is_no_place_for_other_files() {
  QTemporaryDir folder;
  const QString lines = folder.filePath("lines");
  const ProgramResult result =
      Streams{[] {
        for (int stream : {0, 1, 2}) ::close(stream);
      }}.run({"train", preset("parallax_decoder"), "--steps", "2", "--set", "mesh.data=1", "--jsonl", lines});
  QCOMPARE(result.code, 0);
  QFile file(lines);
  QVERIFY(file.open(QIODevice::ReadOnly));
  const QList<QByteArray> written = file.readAll().trimmed().split('\n');
  QCOMPARE(written.size(), 2);
  for (const QByteArray& line : written) QVERIFY2(line.startsWith("{\"step\":") && line.endsWith('}'), line.data());
  QCOMPARE(Streams{[] { ::close(1); }}.run({"plan", preset("parallax_decoder")}).code, 0);
}

void StreamsTest::a_name_from_a_file_gives_the_terminal_no_orders() {
  QTemporaryDir folder;
  // As JSON, and as a terminal is to show it.
  const QString evil = R"(\u001b]0;title\u0007\u009b31m\nrm\r)";
  const QString axis = file_of(folder, decoder_text(), "\"data\", \"size\"", "\"" + evil + "\", \"size\"");
  const ProgramResult refused = shardrun({"plan", axis});
  QCOMPARE(refused.code, 2);
  QVERIFY2(!has_control_characters(refused.errors) && refused.errors.contains(evil), qPrintable(refused.errors));
  const QString constraint =
      file_of(folder, decoder_text(), "\"sharding\": {",
              "\"sharding\": {\"constraints\": {\"" + evil + "*\": [\"data\"]}, \"rules\": [{\"names\": \"" + evil +
                  "*\", \"spec\": []}, {\"axes\": {\"" + evil + "\": \"data\"}}], ");
  for (const QStringList& how : {QStringList{}, QStringList{"--json"}, QStringList{"--steps"}}) {
    const ProgramResult result = shardrun(QStringList{"plan", constraint} + how);
    QVERIFY2(result.code == 0, qPrintable(result.errors));
    QVERIFY2(!has_control_characters(result.output + result.errors), qPrintable(result.output));
    QVERIFY2(!has_line_of_its_own(result.output + result.errors, "rm"), qPrintable(result.output));
  }
  const ProgramResult warned = shardrun({"validate", constraint});
  QVERIFY2(warned.errors.contains(evil) && !has_control_characters(warned.errors), qPrintable(warned.errors));
  for (const ProgramResult& one : {refused, warned}) {
    QVERIFY2(!has_line_of_its_own(one.errors, "rm"), qPrintable(one.errors));
  }
}

void StreamsTest::a_reader_that_has_stopped_stops_no_training() {
  const FullPipe full;
  const QTemporaryDir folder;
  const QString steps = folder.filePath("steps");
  QProcess process;
  process.setChildProcessModifier([&] {
    ::dup2(full.writer(), 1);
    ::dup2(full.writer(), 2);
    ::signal(SIGTERM, SIG_DFL);
  });
  process.start(QCoreApplication::applicationFilePath(),
                tiny_training + QStringList{"--steps", "100000000", "--jsonl", steps});
  // More than the pipe and the ranks' telemetry could hold.
  QVERIFY(QTest::qWaitFor([&] { return lines_in(steps) > 3000; }, 120'000));
  ::kill(static_cast<pid_t>(process.processId()), SIGTERM);
  QCOMPARE(finish(process).code, exit_by_signal + SIGTERM);
}

void StreamsTest::steps_whose_reader_has_gone_are_said_and_no_success() {
  QTemporaryDir folder;
  const QString pipe = folder.filePath("pipe");
  QCOMPARE(::mkfifo(qPrintable(pipe), 0600), 0);
  const int reader = ::open(qPrintable(pipe), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  QProcess process;
  process.start(QCoreApplication::applicationFilePath(),
                tiny_training + QStringList{"--steps", "100000000", "--jsonl", pipe});
  QVERIFY(process.waitForReadyRead(120'000));
  ::close(reader);
  const ProgramResult result = finish(process);
  QVERIFY2(result.errors.contains(pipe + ": cannot write: Broken pipe"), qPrintable(result.errors));
  QCOMPARE(result.code, 1);
}

void StreamsTest::steps_whose_file_was_removed_or_truncated_are_said_and_no_success_data() {
  QTest::addColumn<bool>("truncates");
  QTest::addColumn<bool>("by_own_launcher");
  for (bool truncates : {false, true}) {
    for (bool own : {false, true})
      QTest::addRow("%s%s", truncates ? "truncated" : "removed", own ? ", own mpirun" : "") << truncates << own;
  }
}

void StreamsTest::steps_whose_file_was_removed_or_truncated_are_said_and_no_success() {
  QFETCH(bool, truncates);
  QFETCH(bool, by_own_launcher);
  const QTemporaryDir folder;
  const QString steps = folder.filePath("steps");
  const QStringList arguments = tiny_training + QStringList{"--steps", "3000", "--jsonl", steps};
  QStringList before;
  if (by_own_launcher) {
    before = {"--oversubscribe", "-n", "2", QCoreApplication::applicationFilePath()};
    if (::geteuid() == 0) before.prepend("--allow-run-as-root");
  }
  QProcess process;
  process.start(by_own_launcher ? "mpirun" : QCoreApplication::applicationFilePath(), before + arguments);
  const auto harm = [&] {
    if (lines_in(steps) == 0) return false;
    return truncates ? QFile::resize(steps, 0) : QFile::remove(steps);  // as logrotate's copytruncate; by hand
  };
  QVERIFY(QTest::qWaitFor(harm, 120'000));
  const ProgramResult result = finish(process);
  QVERIFY2(result.errors.contains(steps + (truncates ? ": somebody has truncated this file since the run began"
                                                     : ": somebody has removed this file since the run began")),
           qPrintable(result.errors));
  QCOMPARE(result.code, 1);
}

void StreamsTest::a_failed_run_that_nobody_can_be_reported_of_is_still_exit_code_1() {
  const QStringList diverging = tiny_training + QStringList{"--set", "optimizer.learning_rate=1e6", "--steps", "6"};
  QCOMPARE(Streams{[] { open_as(2, "/dev/full"); }}.run(diverging).code, 1);
}

void StreamsTest::what_a_rank_says_gives_the_terminal_no_orders() {
  QTemporaryDir folder;
  QFile program(folder.filePath("mpirun"));
  QVERIFY(program.open(QIODevice::WriteOnly));
  program.write("#!/bin/sh\nprintf '[1,1]<stderr>:\\033[2J\\377 is red\\n'; exit 3\n");
  program.setPermissions(QFile::ReadOwner | QFile::ExeOwner);
  program.close();
  const QByteArray path = qgetenv("PATH");
  qputenv("PATH", folder.path().toUtf8() + ":" + path);
  const ProgramResult result = shardrun(tiny_training + QStringList{"--steps", "1"});
  qputenv("PATH", path);
  QCOMPARE(result.code, 1);
  QVERIFY2(result.errors.startsWith("rank 1: \\u001b[2J\\xff is red\n"), qPrintable(result.errors));
}

REGISTER_PROGRAM_TEST(StreamsTest)

}  // namespace streams_test

#include "streams_test.moc"
