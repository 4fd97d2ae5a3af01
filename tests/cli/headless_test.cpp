#include <signal.h>
#include <unistd.h>

#include <QDir>
#include <QFile>
#include <QTemporaryDir>
#include <QtTest>

#include "engine/session/messages.h"
#include "tests/cli/small_run.h"
#include "tests/session/socket_client.h"

namespace headless_test {

using namespace shardscope;

namespace {

using Environment = QMap<QString, QString>;

constexpr int patience_ms = 60'000;

QByteArray bytes_of(const QString& path) {
  QFile file(path);
  return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray();
}

QStringList names_in(const QString& path) {
  return QDir(path).entryList(QDir::AllEntries | QDir::Hidden | QDir::System | QDir::NoDotAndDotDot, QDir::Name);
}

void use(QProcess& process, const Environment& settings) {
  QProcessEnvironment environment = QProcessEnvironment::systemEnvironment();
  environment.insert("SHARDRUN", QCoreApplication::applicationFilePath());
  for (auto setting = settings.begin(); setting != settings.end(); ++setting)
    environment.insert(setting.key(), setting.value());
  process.setProcessEnvironment(environment);
}

ProgramResult run_script(const QString& path, const QStringList& arguments, const Environment& settings = {}) {
  QProcess process;
  use(process, settings);
  process.start(path, arguments);
  return finish(process);
}

class Client : public SocketClient {
 public:
  using SocketClient::SocketClient;

  // The messages that have come since, of whole lines.
  std::vector<Message> messages() {
    std::array<char, 4096> block{};
    for (ssize_t count; (count = ::recv(socket_, block.data(), block.size(), MSG_DONTWAIT)) > 0;)
      text_.append(block.data(), static_cast<size_t>(count));
    std::vector<Message> all;
    for (size_t end; (end = text_.find('\n')) != std::string::npos; text_.erase(0, end + 1))
      all.push_back(parse_message(text_.substr(0, end)));
    return all;
  }

 private:
  std::string text_;
};

}  // namespace

// Folders that train elsewhere.
class HeadlessTest : public QObject {
  Q_OBJECT

  QTemporaryDir folder_;
  ProgramResult trained_;
  QString path(const QString& name) const { return folder_.filePath(name); }

  // Exports the small run, so that it does so many steps.
  void hand_out(const QString& kind, const QString& to, int steps, const QStringList& more = {}) const {
    const ProgramResult exported = shardrun(
        QStringList{"export"} + small + QStringList{"--set", QString("steps=%1").arg(steps), "--to", kind, to} + more);
    QVERIFY2(exported.code == 0, qPrintable(exported.errors));
  }

 private slots:
  void initTestCase() {
    trained_ = shardrun(QStringList{"train"} + small + QStringList{"--steps", "4"});
    QVERIFY2(trained_.code == 0, qPrintable(trained_.errors));
  }

  void a_headless_folder_trains_with_the_same_losses_by_each_of_its_scripts() {
    const QString out = path("headless");
    const ProgramResult exported =
        shardrun(QStringList{"export"} + small + QStringList{"--set", "steps=4", "--to", "slurm", out});
    QVERIFY2(exported.code == 0, qPrintable(exported.errors));
    QCOMPARE(names_in(out), (QStringList{"README.txt", "hosts", "job.sbatch", "machine.json", "mpirun.sh", "plan.json",
                                         "run.json", "train.sh"}));
    for (const char* script : {"/train.sh", "/mpirun.sh", "/job.sbatch"}) {
      const ProgramResult checked = run_script(out + script, {"--check"});
      QVERIFY2(checked.code == 0 && checked.output.contains("as it was exported"), qPrintable(checked.errors));
      QVERIFY(losses(checked.output).isEmpty());
      const QString lines = path("headless.jsonl");
      const ProgramResult trained = run_script(out + script, {"--jsonl", lines, "--force"});
      QVERIFY2(trained.code == 0, qPrintable(trained.errors));
      QCOMPARE(losses(trained.output), losses(trained_.output));
      QCOMPARE(bytes_of(lines).count('\n'), 4);
    }
    QByteArray run_file = bytes_of(out + "/run.json");
    QVERIFY(run_file.contains("\"steps\": 4"));
    QFile file(out + "/run.json");
    QVERIFY(file.open(QIODevice::WriteOnly));
    file.write(run_file.replace("\"learning_rate\": 0.001", "\"learning_rate\": 0.002"));
    file.close();
    for (const char* script : {"/train.sh", "/mpirun.sh", "/job.sbatch"}) {
      for (const QStringList& arguments : {QStringList{"--check"}, QStringList{}}) {
        const ProgramResult refused = run_script(out + script, arguments);
        QCOMPARE(refused.code, exit_bad_input);
        QVERIFY2(refused.errors.contains("run.json: plan ") && losses(refused.output).isEmpty(),
                 qPrintable(refused.errors));
      }
    }
  }

  void a_folder_names_the_hosts_of_its_run_and_without_them_this_machine() {
    const QList<std::pair<QStringList, QByteArray>> cases = {{{}, "\nlocalhost slots=2\n"},
                                                             {{"--hosts", "a:1,b:1"}, "\na slots=1\nb slots=1\n"},
                                                             {{"--set", "hosts=a,b"}, "\na slots=1\nb slots=1\n"}};
    for (const auto& [options, lines] : cases) {
      const QString out = path(QString("hosts_%1").arg(options.join('_')));
      hand_out("headless", out, 4, options);
      QVERIFY2(bytes_of(out + "/hosts").endsWith(lines), bytes_of(out + "/hosts").constData());
      const char* where = options.isEmpty() ? "this machine" : "a:1,b:1";
      QVERIFY2(bytes_of(out + "/train.sh").contains(QByteArray(" on 2 ranks of ") + where + ", "), where);
      QVERIFY2(bytes_of(out + "/README.txt").contains(QByteArray("trains on ") + where + ";"), where);
    }
  }

  void data_that_a_run_reads_go_with_it() {
    const QString out = path("text");
    const QStringList settings = {"--set", "model.seq_len=16", "--set", "model.embed_dim=32",
                                  "--set", "model.ff_dim=64",  "--set", "data.batch_size=4",
                                  "--set", "mesh.data=1",      "--set", "steps=3"};
    const ProgramResult exported =
        shardrun(QStringList{"export", preset("tiny_text")} + settings + QStringList{"--to", "headless", out});
    QVERIFY2(exported.code == 0, qPrintable(exported.errors));
    QCOMPARE(bytes_of(out + "/data/tiny_text.txt"), bytes_of(SHARDSCOPE_SOURCE_DIR "/presets/tiny_text.txt"));
    const QString moved = path("moved");
    QVERIFY(QDir().rename(out, moved));
    QVERIFY(bytes_of(moved + "/run.json").contains(R"("machine": "machine.json")"));
    QCOMPARE(shardrun({"plan", moved + "/run.json"}).code, 0);
    const ProgramResult trained = run_script(moved + "/train.sh", {});
    QVERIFY2(trained.code == 0, qPrintable(trained.errors));
    QCOMPARE(losses(trained.output), losses(shardrun(QStringList{"train", preset("tiny_text")} + settings).output));
  }

  void of_a_folder_of_data_those_files_go_with_it_that_training_reads_and_none_from_elsewhere() {
    const QString data = path("corpus"), out = path("linked");
    const QStringList exports = {"export", preset("tiny_text"), "--set", "data.path=" + data, "--to", "headless", out};
    QVERIFY(QDir().mkpath(data + "/part") && QDir().mkpath(path("elsewhere")));
    for (const QString& file : {data + "/part/a.txt", data + "/.hidden", path("elsewhere/secret.txt")})
      QVERIFY(QFile::copy(SHARDSCOPE_SOURCE_DIR "/presets/tiny_text.txt", file));
    QVERIFY(QFile::link("part/a.txt", data + "/b.txt"));
    QVERIFY(QFile::link(path("elsewhere"), data + "/folder"));
    const ProgramResult exported = shardrun(exports);
    QVERIFY2(exported.code == 0, qPrintable(exported.errors));
    QCOMPARE(names_in(out + "/data/corpus"), (QStringList{"b.txt", "part"}));
    QVERIFY(!QFileInfo(out + "/data/corpus/b.txt").isSymLink());
    QCOMPARE(bytes_of(out + "/data/corpus/b.txt"), bytes_of(data + "/part/a.txt"));
    QVERIFY(QFile::link(path("elsewhere/secret.txt"), data + "/part/z.txt"));
    const QStringList before = names_in(folder_.path());
    const ProgramResult refused = shardrun(exports + QStringList{"--force"});
    QCOMPARE(refused.code, exit_bad_input);
    QVERIFY2(refused.errors.contains(data + "/part/z.txt: this is a link to '" + path("elsewhere/secret.txt")),
             qPrintable(refused.errors));
    QCOMPARE(names_in(folder_.path()), before);
  }

  void a_run_that_a_folder_starts_can_be_watched_through_its_socket() {
    hand_out("headless", path("watched"), 100'000);
    QProcess training;
    use(training, {});
    training.start(path("watched/train.sh"), {});
    std::unique_ptr<Client> client;
    std::vector<Message> reported;
    const auto steps = [&] {
      return std::ranges::count_if(reported,
                                   [](const Message& one) { return std::holds_alternative<StepMessage>(one); });
    };
    const auto watch = [&] {
      if (!client || !client->connected()) client = std::make_unique<Client>(path("watched/socket").toStdString());
      else std::ranges::move(client->messages(), std::back_inserter(reported));
      return steps() >= 3;
    };
    [[maybe_unused]] const bool in_time = QTest::qWaitFor(watch, patience_ms);  // reported below, with the run's errors
    training.terminate();
    const ProgramResult result = finish(training);
    QVERIFY2(steps() >= 3, qPrintable(result.errors));
    const auto* hello = std::get_if<HelloMessage>(&reported.front());
    QVERIFY(hello && hello->ranks == 2 && !hello->metrics.empty());
    QCOMPARE(result.code, exit_by_signal + SIGTERM);
    QVERIFY(!QFile::exists(path("watched/socket")));
  }

  void where_the_folder_has_too_long_a_path_for_a_socket_another_is_said() {
    const QString deep = path(QString(60, 'a') + "/" + QString(60, 'b') + "/" + QString(40, QChar(0xe4)));
    QVERIFY(QDir().mkpath(QFileInfo(deep).path()));
    hand_out("slurm", deep, 2);
    for (const char* script : {"/train.sh", "/job.sbatch"}) {
      const ProgramResult result = run_script(deep + script, {});
      QVERIFY2(result.code == 0 && losses(result.output).size() == 2, qPrintable(result.errors));
      static const QRegularExpression place("too long for a socket; this run's is (/tmp/shardscope-[0-9]+/[0-9]+)");
      const QRegularExpressionMatch said = place.match(result.errors);
      QVERIFY2(said.hasMatch(), qPrintable(result.errors));
      QVERIFY(!QFile::exists(said.captured(1)));
      const QFileInfo own(QFileInfo(said.captured(1)).path());
      QVERIFY(own.isDir() && own.ownerId() == ::geteuid());
      QVERIFY(!own.permission(QFile::ReadGroup) && !own.permission(QFile::WriteOther));
      const ProgramResult chosen = run_script(deep + script, {}, {{"SOCKET", path("chosen")}});
      QVERIFY2(chosen.code == 0 && !chosen.errors.contains("too long"), qPrintable(chosen.errors));
    }
  }

  void a_batch_script_asks_for_what_the_plan_needs_and_trains_on_the_hosts_of_the_allocation() {
    const QString out = path("slurm"), spool = path("slurm_script"), calls = path("srun_calls");
    hand_out("slurm", out, 4, {"--hosts", "a:1,b:1"});
    const QByteArray text = bytes_of(out + "/job.sbatch");
    for (const char* line : {"#SBATCH --ntasks=2\n", "#SBATCH --nodes=2\n", "#SBATCH --ntasks-per-node=1\n",
                             "#SBATCH --threads-per-core=1\n", "#SBATCH --requeue\n", "#SBATCH --open-mode=append\n",
                             "#SBATCH --signal=B:USR1@120\n"})
      QVERIFY2(text.contains(line), line);
    static const QRegularExpression time("\n#SBATCH --time=00:1[0-9]:00\n"),
        cpus("\n#SBATCH --cpus-per-task=[1-9][0-9]*\n");
    QVERIFY2(text.contains("--bind-cpus") && time.match(text).hasMatch() && cpus.match(text).hasMatch(),
             text.constData());
    QVERIFY(QFile::copy(out + "/job.sbatch", spool));  // as Slurm does
    QVERIFY(QDir().mkpath(path("bin")));
    QFile srun(path("bin/srun"));
    QVERIFY(srun.open(QIODevice::WriteOnly));
    srun.write("#!/bin/sh\necho \"$*\" >> '" + calls.toUtf8() +
               "'\nwhile [ \"$1\" != /bin/sh ]; do shift; done\nexec \"$@\"\n");
    srun.close();
    srun.setPermissions(QFile::ReadOwner | QFile::WriteOwner | QFile::ExeOwner);
    const Environment allocation = {{"SLURM_JOB_ID", "7"},
                                    {"SLURM_SUBMIT_DIR", out},
                                    {"SLURM_JOB_NODELIST", "node[1-2]"},
                                    {"SLURM_TASKS_PER_NODE", "1(x2)"},
                                    {"PATH", path("bin") + ":" + qEnvironmentVariable("PATH")}};
    const ProgramResult trained = run_script(spool, {"--interface", "lo"}, allocation);
    QVERIFY2(trained.code == 0, qPrintable(trained.errors));
    QCOMPARE(losses(trained.output), losses(trained_.output));
    for (const char* host : {"node1", "node2"})
      QVERIFY2(
          bytes_of(calls).contains(QByteArray("--nodes=1 --ntasks=1 --overlap --cpu-bind=none --nodelist ") + host),
          bytes_of(calls).constData());
    Environment elsewhere = allocation;
    elsewhere["SLURM_SUBMIT_DIR"] = path("bin");
    const ProgramResult refused = run_script(spool, {}, elsewhere);
    QVERIFY(refused.code == 2 && refused.errors.contains("submit job.sbatch from its own folder"));
  }

  void an_option_of_the_user_takes_the_place_of_the_scripts_own_in_either_form_data() {
    QTest::addColumn<bool>("joined");
    QTest::newRow("--option value") << false;
    QTest::newRow("--option=value") << true;
  }
  void an_option_of_the_user_takes_the_place_of_the_scripts_own_in_either_form() {
    QFETCH(bool, joined);
    const QString out = path(joined ? "a $(b) 'c'" : "a \"b\"  c;d"), own = out + "/own";
    hand_out("slurm", out, 4);
    const auto words = [&](const QList<std::pair<QString, QString>>& options) {
      QStringList list;
      for (const auto& [name, value] : options)
        list += joined ? QStringList{name + "=" + value} : QStringList{name, value};
      return list;
    };
    const QStringList same = words({{"--socket", path("own_socket")}, {"--machine", out + "/machine.json"}});
    for (const char* script : {"/train.sh", "/job.sbatch"}) {
      const ProgramResult trained = run_script(out + script, same);
      QVERIFY2(trained.code == 0, qPrintable(trained.errors));
      QCOMPARE(losses(trained.output), losses(trained_.output));
      QVERIFY(!trained.errors.contains("too long"));
    }
    QVERIFY(QDir(out + "/checkpoints").removeRecursively());
    const QStringList all = words({{"--save-every", "2"},
                                   {"--checkpoint", own + "/kept"},
                                   {"--record", own + "/record/"},
                                   {"--jsonl", own + "/lines"}});
    QVERIFY(QDir().mkpath(own));
    Environment job = {{"SLURM_JOB_ID", "7"}, {"SLURM_SUBMIT_DIR", out}};
    const ProgramResult first = run_script(out + "/job.sbatch", all, job);
    QVERIFY2(first.code == 0, qPrintable(first.errors));
    QCOMPARE(names_in(own + "/kept"), (QStringList{"step_000002", "step_000004"}));
    QVERIFY(!QFile::exists(out + "/checkpoints"));
    for (int restarts = 1; restarts <= 2; ++restarts) {
      job["SLURM_RESTART_COUNT"] = QString::number(restarts);
      const QStringList more =
          all + words({{"--steps", QString::number(4 + 2 * restarts)}, {"--resume", own + "/kept/step_000002"}});
      const ProgramResult again = run_script(out + "/job.sbatch", more, job);
      QVERIFY2(again.code == 0, qPrintable(again.errors));
      QCOMPARE(losses(again.output).size(), 2);
      QCOMPARE(bytes_of(own + "/lines").count('\n'), 4 + 2 * restarts);
    }
    QCOMPARE(names_in(own).filter("record"), (QStringList{"record", "record.2", "record.3"}));
    const ProgramResult forced = run_script(out + "/job.sbatch", all + QStringList{"--force", "--steps", "9"}, job);
    QVERIFY2(forced.code == 0, qPrintable(forced.errors));
    QCOMPARE(bytes_of(own + "/lines").count('\n'), 8);
    QCOMPARE(bytes_of(own + "/lines.3").count('\n'), 1);
  }

  // Slurm's part is played by a signal, a program scontrol, and the script started once more.
  void a_batch_job_whose_time_is_up_is_put_into_the_queue_again_and_goes_on_from_its_checkpoint() {
    const QString out = path("requeued"), calls = path("scontrol_calls"), lines = path("requeued.jsonl");
    hand_out("slurm", out, 100'000'000);
    QVERIFY(QDir().mkpath(path("slurm_bin")));
    QFile scontrol(path("slurm_bin/scontrol"));
    QVERIFY(scontrol.open(QIODevice::WriteOnly));
    scontrol.write("#!/bin/sh\necho \"$*\" >> '" + calls.toUtf8() + "'\n");
    scontrol.close();
    scontrol.setPermissions(QFile::ReadOwner | QFile::WriteOwner | QFile::ExeOwner);
    Environment job = {{"SLURM_JOB_ID", "7"},
                       {"SLURM_SUBMIT_DIR", out},
                       {"PATH", path("slurm_bin") + ":" + qEnvironmentVariable("PATH")}};
    const auto run_until_time_is_up = [&](int step) {
      QProcess script;
      use(script, job);
      script.start(out + "/job.sbatch", {"--jsonl", lines});
      const QByteArray reached = "Epoch " + QByteArray::number(step) + ":";
      QByteArray output;
      while (!output.contains(reached) && script.waitForReadyRead(patience_ms))
        output += script.readAllStandardOutput();
      ::kill(static_cast<pid_t>(script.processId()), SIGUSR1);
      ProgramResult result = finish(script);
      result.output = QString::fromUtf8(output) + result.output;
      return result;
    };
    const ProgramResult first = run_until_time_is_up(3);
    QVERIFY2(first.code == exit_by_signal + SIGTERM, qPrintable(first.errors));
    QCOMPARE(bytes_of(calls), QByteArray("requeue 7\n"));
    const QStringList kept = names_in(out + "/checkpoints");
    QVERIFY2(!kept.isEmpty() && kept.last().startsWith("step_"), qPrintable(first.errors));
    const int done = kept.last().section('_', 1).toInt();
    QVERIFY(done > 3);
    job["SLURM_RESTART_COUNT"] = "1";
    const ProgramResult second = run_until_time_is_up(done + 3);
    QVERIFY2(losses(second.output).value(0).startsWith(QString("Epoch %1:").arg(done)), qPrintable(second.errors));
    QCOMPARE(bytes_of(calls), QByteArray("requeue 7\nrequeue 7\n"));
    QList<QByteArray> steps = bytes_of(lines).trimmed().split('\n');
    QVERIFY(steps[done].startsWith(QString("{\"step\":%1,").arg(done).toUtf8()));
  }
};

REGISTER_PROGRAM_TEST(HeadlessTest)

}  // namespace headless_test

#include "headless_test.moc"
