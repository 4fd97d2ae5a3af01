#include <signal.h>
#include <sys/stat.h>

#include <QDir>
#include <QFile>
#include <QFloat16>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QTemporaryDir>
#include <QtEndian>
#include <QtTest>
#include <cmath>
#include <cstring>

#include "engine/cli/checkpoint_table.h"
#include "engine/machine/host_machine.h"
#include "engine/machine/machine_file.h"
#include "engine/session/processes.h"
#include "tests/checkpoint/made_checkpoint.h"
#include "tests/cli/small_run.h"

namespace checkpoint_test {

using namespace shardscope;

namespace {

QStringList names_in(const QString& path) {
  return QDir(path).entryList(QDir::AllEntries | QDir::Hidden | QDir::NoDotAndDotDot);
}

QByteArray bytes_of(const QString& path) {
  QFile file(path);
  return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray();
}

void flip_last_bit(const QString& path) {
  QByteArray bytes = bytes_of(path);
  bytes.back() = static_cast<char>(bytes.back() ^ 1);
  QFile file(path);
  QVERIFY(file.open(QIODevice::WriteOnly));
  file.write(bytes);
}

// Starts a training without end, and waits for a text in what it prints. Gives what it has printed.
QByteArray train_until(const char* text, QProcess& process, const QStringList& more) {
  process.start(QCoreApplication::applicationFilePath(),
                QStringList{"train"} + small + QStringList{"--steps", "100000000"} + more);
  QByteArray output;
  while (!output.contains(text) && process.waitForReadyRead(300'000)) output += process.readAllStandardOutput();
  return output;
}

ProgramResult train(const QStringList& more) { return shardrun(QStringList{"train"} + small + more); }

}  // namespace

class CheckpointTest : public QObject {
  Q_OBJECT

 private slots:
  void names_in_a_checkpoint_are_shown_quoted() {
    QTemporaryDir folder;
    const std::string name = "params/\x1b[31mred\nstep_000009  9";
    const std::string made =
        test::make_checkpoint(folder.filePath("saved").toStdString(),
                              {{name, {{2}, DType::f32}, Sharding::replicated(1), true}}, Mesh({{"data", 1}}));
    for (const QString& path : {QString::fromStdString(made), folder.filePath("saved")}) {
      const ProgramResult result = shardrun({"checkpoint", "list", path, "--verify"});
      QCOMPARE(result.code, 0);
      QVERIFY(!result.output.contains('\x1b') && !result.output.contains("\nstep_000009"));
    }
    QVERIFY(shardrun({"checkpoint", "list", QString::fromStdString(made)}).output.contains("\\u001b[31mred\\n"));
  }

  void a_run_in_two_parts_prints_and_ends_as_the_run_in_one() {
    QTemporaryDir folder;
    const QString whole = folder.filePath("whole"), parts = folder.filePath("parts"), saved = folder.filePath("saved");
    const ProgramResult one = train({"--steps", "6", "--parameters", whole});
    const ProgramResult first = train({"--steps", "3", "--checkpoint", saved, "--save-every", "2"});
    QVERIFY2(first.code == 0, qPrintable(first.errors));
    QCOMPARE(names_in(saved), (QStringList{"step_000002", "step_000003"}));
    const ProgramResult second =
        train({"--steps", "6", "--resume", saved, "--checkpoint", saved, "--keep", "1", "--parameters", parts});
    QVERIFY2(second.code == 0, qPrintable(second.errors));
    QVERIFY2(second.errors.contains("going on from " + saved + "/step_000003"), qPrintable(second.errors));
    QCOMPARE(losses(first.output) + losses(second.output), losses(one.output));
    QVERIFY(!bytes_of(whole).isEmpty() && bytes_of(parts) == bytes_of(whole));
    QCOMPARE(names_in(saved), QStringList{"step_000006"});
    const QString exported = folder.filePath("exported");
    QCOMPARE(shardrun({"checkpoint", "export", saved, exported}).code, 0);
    QVERIFY(bytes_of(exported) == bytes_of(whole));
    QCOMPARE(shardrun({"checkpoint", "export", saved, exported}).code, exit_bad_input);
    // Nothing of it is left where the reader of a pipe goes away.
    QVERIFY(QDir(folder.path()).mkdir("temporary"));
    QProcess piped;
    QProcessEnvironment environment = QProcessEnvironment::systemEnvironment();
    environment.insert("TMPDIR", folder.filePath("temporary"));
    piped.setProcessEnvironment(environment);
    const QString program = QCoreApplication::applicationFilePath();
    piped.start("sh", {"-c", R"("$0" checkpoint export "$1" - | head -c 10)", program, saved});
    QVERIFY(!finish(piped).output.isEmpty());
    QVERIFY(QDir(folder.filePath("temporary")).isEmpty());
  }

  void an_ended_run_keeps_where_it_is() {
    QTemporaryDir folder;
    const QString saved = folder.filePath("saved");
    QProcess process;
    train_until("Epoch ", process, {"--checkpoint", saved});
    ::kill(static_cast<pid_t>(process.processId()), SIGTERM);
    const ProgramResult result = finish(process);
    QCOMPARE(result.code, 128 + SIGTERM);
    QCOMPARE(names_in(saved).size(), 1);
    QCOMPARE(shardrun({"checkpoint", "list", saved, "--verify"}).code, 0);
  }

  void a_killed_run_can_be_resumed_at_once() {
    QTemporaryDir folder;
    const QString saved = folder.filePath("saved");
    QProcess process;
    train_until("Epoch 9", process, {"--checkpoint", saved, "--save-every", "1"});
    process.kill();
    QVERIFY(process.waitForFinished(300'000));
    const ProgramResult resumed = train({"--steps", "1", "--resume", saved, "--checkpoint", saved});
    QVERIFY2(resumed.code == 0, qPrintable(resumed.errors));
    QVERIFY2(resumed.errors.contains("there is nothing to do"), qPrintable(resumed.errors));
  }

  void a_run_that_has_lost_a_rank_goes_on_from_its_last_checkpoint() {
    QTemporaryDir folder;
    const QString saved = folder.filePath("saved");
    QProcess process;
    QByteArray output =
        train_until("Epoch 9", process, {"--checkpoint", saved, "--save-every", "2", "--max-restarts", "1"});
    ::kill(descendants(static_cast<int>(process.processId())).back().pid, SIGKILL);
    QByteArray errors;
    const auto has_gone_on = [&] {
      output += process.readAllStandardOutput();
      return (errors += process.readAllStandardError()).contains("going on from " + saved.toUtf8() + "/step_0");
    };
    QVERIFY(QTest::qWaitFor(has_gone_on, 300'000));
    ::kill(static_cast<pid_t>(process.processId()), SIGTERM);
    const ProgramResult result = finish(process);
    QCOMPARE(result.code, 128 + SIGTERM);
    QVERIFY2(QRegularExpression("starting again from step [1-9]").match(errors).hasMatch(), errors.constData());
    QCOMPARE((output + result.output.toUtf8()).count("Epoch 0:"), 1);
    QCOMPARE(shardrun({"checkpoint", "list", saved, "--verify"}).code, 0);
  }

  void a_run_that_has_lost_a_rank_takes_no_checkpoints_of_another_that_has_its_path_by_then() {
    QTemporaryDir folder;
    const QString saved = folder.filePath("saved"), moved = folder.filePath("moved");
    const QStringList options{"--checkpoint", saved, "--save-every", "100000000", "--max-restarts", "1"};
    QProcess process;
    train_until("Epoch 9", process, options);
    QVERIFY(QDir().rename(saved, moved));
    QCOMPARE(train({"--steps", "2", "--checkpoint", saved}).code, 0);
    ::kill(descendants(static_cast<int>(process.processId())).back().pid, SIGKILL);
    const ProgramResult result = finish(process);
    QCOMPARE(result.code, exit_failed_run);
    QVERIFY2(result.errors.contains("moved to " + moved), qPrintable(result.errors));
    QCOMPARE(names_in(saved), QStringList{"step_000002"});
    QVERIFY(names_in(moved).isEmpty());
  }

  void the_memory_of_checkpoints_is_asked_for_before_the_first_step() {
    QTemporaryDir folder;
    Machine machine = reference_host();
    machine.device.memory_bytes = 1 << 20;
    save_machine(machine, folder.filePath("machine").toStdString());
    const QStringList run{"--steps", "1", "--machine", folder.filePath("machine")};
    const QString words = " of it for checkpoints, the host has 1.00 MiB";
    const ProgramResult without = train(run);
    QVERIFY(without.code == 2 && !without.errors.contains(words));
    const ProgramResult with = train(run + QStringList{"--checkpoint", folder.filePath("saved")});
    QVERIFY2(with.code == 2 && with.errors.contains(words), qPrintable(with.errors));
  }

  void a_checkpoint_that_ranks_leave_incomplete_is_named() {
    QTemporaryDir folder;
    const QString saved = folder.filePath("saved");
    QProcess process;
    train_until("Epoch 9", process, {"--checkpoint", saved});
    QVERIFY(QDir(saved).mkdir(".step_000007.part"));  // in a rank's place
    QVERIFY(QDir(saved).mkdir(".step_000006.gone"));
    ::kill(descendants(static_cast<int>(process.processId())).back().pid, SIGKILL);
    const ProgramResult result = finish(process);
    QCOMPARE(result.code, exit_failed_run);
    QCOMPARE(result.errors.count("was not completed"), 1);
    QVERIFY2(result.errors.contains("step_000007 was not completed"), qPrintable(result.errors));
  }

  void what_is_inside_is_listed_whole_and_damaged() {
    QTemporaryDir folder;
    const QString saved = folder.filePath("saved");
    QCOMPARE(train({"--steps", "2", "--checkpoint", saved, "--save-every", "1"}).code, 0);
    const ProgramResult list = shardrun({"checkpoint", "list", saved, "--verify"});
    QCOMPARE(list.code, 0);
    QVERIFY(QRegularExpression("step_000002 +2 +decoder_only_transformer +data 2 x model 1 +\\S+ \\w+ +whole")
                .match(list.output)
                .hasMatch());
    const ProgramResult inside = shardrun({"checkpoint", "list", saved + "/step_000002"});
    QVERIFY(
        QRegularExpression("params/Embed_0/embedding +f32 +\\(64, 32\\) +\\S+ KiB +2").match(inside.output).hasMatch());
    QVERIFY2(inside.output.contains("optimizer/mu/params/Embed_0/embedding"), qPrintable(inside.output));
    flip_last_bit(saved + "/step_000002/rank_00001.safetensors");
    const ProgramResult damaged = shardrun({"checkpoint", "list", saved, "--verify"});
    QCOMPARE(damaged.code, exit_failed_run);
    QVERIFY(damaged.output.contains("damaged: " + saved + "/step_000002/rank_00001.safetensors: block 1 of 1"));
    const ProgramResult refused = train({"--steps", "3", "--resume", saved + "/step_000002"});
    QCOMPARE(refused.code, exit_failed_run);
    QVERIFY2(refused.errors.contains("resume from " + saved + "/step_000001, the newest whole one"),
             qPrintable(refused.errors));
    QVERIFY(losses(refused.output).isEmpty());
  }

  void a_checkpoint_that_its_run_has_removed_meanwhile_is_not_damaged() {
    QTemporaryDir folder;
    const std::string path = folder.path().toStdString();
    const std::vector<StoredState> states{{"params/w", {{2}, DType::f32}, Sharding::replicated(1), true}};
    for (int64_t step : {1, 2, 3}) test::make_checkpoint(path, states, Mesh({{"data", 1}}), step);
    const std::vector<FoundCheckpoint> found = list_checkpoints(path);
    QVERIFY(QFile::rename(folder.filePath("step_000001"), folder.filePath(".step_000001.gone")));
    const CheckpointTable table = checkpoint_table(found, true);
    QVERIFY2(QRegularExpression("step_000001 +1 +removed meanwhile").match(table.text.c_str()).hasMatch(),
             table.text.c_str());
    QVERIFY(table.all_whole);
    QVERIFY(QFile::remove(folder.filePath("step_000002/rank_00000.safetensors")));
    const CheckpointTable damaged = checkpoint_table(found, true);
    QVERIFY(!damaged.all_whole && damaged.text.find("damaged: ") != std::string::npos);
  }

  void a_run_with_nothing_to_do_says_so_with_both_numbers() {
    QTemporaryDir folder;
    const QString saved = folder.filePath("saved");
    QCOMPARE(train({"--steps", "3", "--checkpoint", saved}).code, 0);
    for (const char* steps : {"3", "2"}) {
      const ProgramResult result = train({"--steps", steps, "--resume", saved, "--checkpoint", saved});
      QVERIFY2(result.code == 0, qPrintable(result.errors));
      QVERIFY2(result.errors.contains("nothing to do: 3 steps are done, and the run asks for " + QString(steps)),
               qPrintable(result.errors));
      QVERIFY(losses(result.output).isEmpty() && !result.errors.contains("going on"));
    }
    QCOMPARE(names_in(saved), QStringList{"step_000003"});
  }

  // Opening a FIFO waits for a writer.
  void a_fifo_is_no_checkpoint_and_no_parameters() {
    QTemporaryDir folder;
    const QString fifo = folder.filePath("fifo"), saved = folder.filePath("step_000001");
    QVERIFY(::mkfifo(fifo.toLocal8Bit(), 0600) == 0);
    QVERIFY(QDir().mkdir(saved) && ::mkfifo((saved + "/index.json").toLocal8Bit(), 0600) == 0);
    for (const ProgramResult& result :
         {shardrun(QStringList{"checkpoint", "import", folder.filePath("imported"), fifo} + small),
          shardrun({"checkpoint", "list", saved}), shardrun({"checkpoint", "export", saved, folder.filePath("out")}),
          train({"--resume", saved})}) {
      QCOMPARE(result.code, exit_bad_input);
      QVERIFY2(result.errors.contains("FIFO"), qPrintable(result.errors));
    }
  }

  void what_cannot_be_is_said_before_ranks_are_started() {
    QTemporaryDir folder;
    const QString saved = folder.filePath("saved");
    const auto refusal = [](const QStringList& more) {
      const ProgramResult result = train(more);
      return result.code == exit_bad_input ? result.errors : "code " + QString::number(result.code);
    };
    QVERIFY(refusal({"--resume", saved}).startsWith(saved + ": there is no checkpoint here"));
    QVERIFY(refusal({"--checkpoint", "/proc/nowhere"}).startsWith("/proc/nowhere: cannot write"));
    QVERIFY(refusal({"--save-every", "2"}).contains("--checkpoint"));
    QVERIFY(refusal({"--save-every", "0", "--checkpoint", saved}).contains("--save-every"));
    QCOMPARE(train({"--steps", "1", "--checkpoint", saved}).code, 0);
    QVERIFY(refusal({"--checkpoint", saved}).contains("--resume " + saved + " goes on from them"));
    const QString inside = refusal({"--checkpoint", saved + "/step_000020"});
    QVERIFY2(inside.contains("this names a checkpoint, not a folder for checkpoints") && inside.contains(saved + ";"),
             qPrintable(inside));
    QVERIFY(refusal({"--resume", saved, "--set", "model.embed_dim=64"})
                .contains("embedding' is (64, 32) here, and (64, 64)"));
  }

  void exported_parameters_begin_another_run() {
    QTemporaryDir folder;
    const QString saved = folder.filePath("saved"), parameters = folder.filePath("parameters"),
                  imported = folder.filePath("imported"), again = folder.filePath("again");
    QCOMPARE(train({"--steps", "2", "--checkpoint", saved}).code, 0);
    QCOMPARE(shardrun({"checkpoint", "export", saved, parameters}).code, 0);
    const ProgramResult result = shardrun(QStringList{"checkpoint", "import", imported, parameters} + small);
    QVERIFY2(result.code == 0, qPrintable(result.errors));
    QCOMPARE(names_in(imported), QStringList{"step_000000"});
    QCOMPARE(shardrun({"checkpoint", "export", imported, again}).code, 0);
    QVERIFY(bytes_of(again) == bytes_of(parameters));
    const ProgramResult begun = train({"--steps", "1", "--resume", imported});
    QCOMPARE(begun.code, 0);
    QCOMPARE(losses(begun.output).size(), 1);
  }

  // The parameters of the small run as somebody else may have stored them: f16 or f64, under other names.
  void arrays_of_another_float_type_are_cast_where_that_is_asked_for() {
    QTemporaryDir folder;
    const QString saved = folder.filePath("saved"), parameters = folder.filePath("parameters");
    QCOMPARE(train({"--steps", "1", "--checkpoint", saved}).code, 0);
    QCOMPARE(shardrun({"checkpoint", "export", saved, parameters}).code, 0);
    const QByteArray whole = bytes_of(parameters);
    const auto length = static_cast<qsizetype>(qFromLittleEndian<quint64>(whole.constData()));
    const QJsonObject header = QJsonDocument::fromJson(whole.mid(8, length)).object();
    const auto write = [&](const QString& path, const QString& dtype, int bytes, const QString& prefix) {
      QJsonObject other;
      QByteArray elements;
      for (const QString& name : header.keys()) {
        QJsonObject array = header[name].toObject();
        const auto begin = array["data_offsets"][0].toInteger(), end = array["data_offsets"][1].toInteger();
        const auto first = elements.size();
        for (auto at = begin; at < end; at += 4) {
          float value = 0;
          std::memcpy(&value, whole.constData() + 8 + length + at, sizeof value);
          const double wide = value;
          const auto half = qfloat16(value);
          elements.append(bytes == 8 ? reinterpret_cast<const char*>(&wide) : reinterpret_cast<const char*>(&half),
                          bytes);
        }
        array["dtype"] = dtype;
        array["data_offsets"] = QJsonArray{first, elements.size()};
        other[QString(name).replace("params/", prefix)] = array;
      }
      const QByteArray text = QJsonDocument(other).toJson(QJsonDocument::Compact);
      QFile file(path);
      QVERIFY(file.open(QIODevice::WriteOnly));
      const quint64 size = qToLittleEndian(static_cast<quint64>(text.size()));
      file.write(reinterpret_cast<const char*>(&size), sizeof size);
      file.write(text + elements);
    };
    const auto import = [&](const QString& name, const QStringList& more) {
      return shardrun(QStringList{"checkpoint", "import", folder.filePath(name + "_imported"), folder.filePath(name)} +
                      small + more);
    };
    write(folder.filePath("f64"), "F64", 8, "params/");
    write(folder.filePath("f16"), "F16", 2, "params/");
    write(folder.filePath("named"), "F64", 8, "model/");
    for (const QString name : {"f64", "f16"}) {
      const ProgramResult refused = import(name, {});
      QCOMPARE(refused.code, 2);
      QVERIFY2(refused.errors.contains(QString("is %1 (").arg(name.toUpper())) && refused.errors.contains("--cast"),
               qPrintable(refused.errors));
      const ProgramResult cast = import(name, {"--cast"});
      QVERIFY2(cast.code == 0, qPrintable(cast.errors));
      const QString again = folder.filePath(name + "_again");
      QCOMPARE(shardrun({"checkpoint", "export", folder.filePath(name + "_imported"), again}).code, 0);
      const QByteArray back = bytes_of(again);
      QCOMPARE(back.size(), whole.size());
      double farthest = 0;
      for (qsizetype at = 8 + length; at < whole.size(); at += 4) {
        float own = 0, cast_back = 0;
        std::memcpy(&own, whole.constData() + at, sizeof own);
        std::memcpy(&cast_back, back.constData() + at, sizeof cast_back);
        farthest = std::max(farthest, std::abs(double(own) - cast_back) / std::max(1e-3, std::abs(double(own))));
      }
      QVERIFY2(name == "f64" ? farthest == 0 : farthest > 0 && farthest < 1e-3, qPrintable(QString::number(farthest)));
    }
    const ProgramResult named = import("named", {"--cast"});
    QCOMPARE(named.code, 2);
    QVERIFY2(named.errors.contains("the run expects 'params/Embed_0/embedding' f32 (64, 32), 'params/"),
             qPrintable(named.errors));
    QVERIFY2(named.errors.contains("it holds no 'params/Embed_0/embedding' (did you mean 'model/Embed_0/embedding'?)"),
             qPrintable(named.errors));
  }
};

REGISTER_PROGRAM_TEST(CheckpointTest)

}  // namespace checkpoint_test

#include "checkpoint_test.moc"
