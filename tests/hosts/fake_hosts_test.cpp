#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>
#include <QFileInfo>
#include <QJsonArray>
#include <QMap>
#include <QRegularExpression>
#include <QSet>
#include <algorithm>
#include <csignal>
#include <functional>

#include "engine/base/loaded_code.h"
#include "engine/machine/host_machine.h"
#include "engine/machine/machine_file.h"
#include "engine/session/processes.h"
#include "tests/hosts/fake_hosts.h"
#include "tests/hosts/listening.h"
#include "tests/hosts/trained.h"
#include "tests/patience.h"

namespace fake_hosts_test {

using namespace shardscope;

// Runs on several hosts, without any: agents over loopback, each with a session directory and shared memory of its own.
class FakeHostsTest : public QObject {
  Q_OBJECT

 private slots:
  void several_hosts_train_as_one_and_leave_nothing_data() {
    QTest::addColumn<QString>("list");
    QTest::addColumn<int>("data");
    QTest::newRow("two") << "a:2,b:2" << 2;
    QTest::newRow("unequal") << "a:5,b:3" << 4;
    QTest::newRow("three") << "a:4,b:2,c:2" << 4;
    QTest::newRow("from a file") << "a slots=2\n# and\nb slots=1 max_slots=2\nb slots=1\n" << 2;
  }

  void several_hosts_train_as_one_and_leave_nothing() {
    QFETCH(QString, list);
    QFETCH(int, data);
    const FakeHosts hosts;
    QTemporaryDir folder;
    const QString several = folder.filePath("several");
    const QStringList train = QStringList{"train"} + small_model(data) + QStringList{"--steps", "5", "--jsonl"};
    if (!losses_on_one_host_.contains(data)) {
      const QString one = folder.filePath("one");
      ProgramResult alone = shardrun(train + QStringList{one});
      QVERIFY2(alone.code == 0, qPrintable(alone.errors));
      losses_on_one_host_[data] = losses(one);
    }
    QStringList where = hosts.options(list);
    if (list.contains("slots=")) {
      write(folder.filePath("hosts"), list.toUtf8());
      where = QStringList{"--hostfile", folder.filePath("hosts")} + hosts.ways();
    }
    ProgramResult result = shardrun(train + QStringList{several} + where);
    QVERIFY2(result.code == 0, qPrintable(result.errors));
    QVERIFY2(are_near(losses(several), losses_on_one_host_[data]), qPrintable(result.output));
    QCOMPARE(losses(several).size(), 5);
    QCOMPARE(hosts.left(), QStringList());
    QVERIFY(result.errors.contains("host b: ranks "));
  }

  void experts_on_other_hosts_get_their_tokens() {
    const FakeHosts hosts;
    QTemporaryDir folder;
    const QString file = folder.filePath("run.json"), one = folder.filePath("one"), two = folder.filePath("two");
    write(file, R"({
  "version": 2,
  "model": {"name": "huggingface", "path": ")" SHARDSCOPE_SOURCE_DIR R"(/presets/models/mixtral_tiny"},
  "strategy": {"data": 2, "expert": 2, "order": ["expert", "data"]},
  "data": {"kind": "synthetic_lm", "batch_size": 8, "seed": 0, "sequence_length": 16},
  "optimizer": {"name": "adamw", "learning_rate": 0.001},
  "seed": 0,
  "steps": 3,
  "deterministic": true
})");
    const ProgramResult plan = shardrun({"plan", file, "--json"});
    QVERIFY2(plan.output.contains("all-to-all"), qPrintable(plan.errors));
    const ProgramResult alone = shardrun({"train", file, "--jsonl", one});
    QVERIFY2(alone.code == 0, qPrintable(alone.errors));
    const ProgramResult apart = shardrun(QStringList{"train", file, "--jsonl", two} + hosts.options("a:2,b:2"));
    QVERIFY2(apart.code == 0, qPrintable(apart.errors));
    QVERIFY2(are_near(losses(two), losses(one)), qPrintable(apart.output));
    QCOMPARE(hosts.left(), QStringList());
  }

  void a_program_whose_path_has_spaces_and_colons_trains_on_hosts() {
    const FakeHosts hosts;
    QTemporaryDir folder;
    const QString there = folder.filePath("My programs: 2");
    QVERIFY(QDir().mkpath(there));
    const QString program = there + "/shard run";
    QVERIFY(QFile::copy(QCoreApplication::applicationFilePath(), program));
    QProcess process;
    process.start(program,
                  QStringList{"train"} + small_model() + QStringList{"--steps", "2"} + hosts.options("a:2,b:2"));
    const ProgramResult result = finish(process);
    QVERIFY2(result.code == 0, qPrintable(result.errors));
    QCOMPARE(hosts.left(), QStringList());
  }

  void inside_an_allocation_of_slurm_its_hosts_train_through_srun() {
    const FakeHosts hosts;
    QProcess process;
    process.setProcessEnvironment(hosts.allocation("n[1-2]", "2(x2)"));
    process.start(QCoreApplication::applicationFilePath(),
                  QStringList{"train"} + small_model() + QStringList{"--steps", "2", "--interface", "lo"});
    const ProgramResult result = finish(process);
    QVERIFY2(result.code == 0, qPrintable(result.errors));
    QVERIFY2(result.errors.contains("host n1: ranks 0 to 1,"), qPrintable(result.errors));
    QVERIFY2(result.errors.contains("host n2: ranks 2 to 3,"), qPrintable(result.errors));
    QVERIFY(QDir(QFileInfo(hosts.launcher()).path()).exists("n2"));
    QCOMPARE(hosts.left(), QStringList());
  }

  void a_host_with_another_build_is_refused_with_both() {
    const FakeHosts hosts;
    const QString here = QString::fromStdString(loaded_code()).section("program ", 1).section(',', 0, 0);
    const QString there = QString(here).replace(0, 2, here.startsWith("00") ? "11" : "00");
    QFile program(QCoreApplication::applicationFilePath());
    QVERIFY(program.open(QIODevice::ReadOnly));
    QByteArray code = program.readAll();
    QVERIFY(code.contains(QByteArray::fromHex(here.toLatin1())));
    write(hosts.program_of("b"),
          code.replace(QByteArray::fromHex(here.toLatin1()), QByteArray::fromHex(there.toLatin1())));
    const ProgramResult result = shardrun(QStringList{"train"} + small_model() + hosts.options("a:2,b:2"));
    QCOMPARE(result.code, 1);
    QVERIFY2(
        result.errors.contains(QString("host b (ranks 2 to 3): has another build of this program or its libraries: "
                                       "there program %1, here program %2;")
                                   .arg(there, here)),
        qPrintable(result.errors));
    QCOMPARE(hosts.left(), QStringList());
  }

  // The launcher knows the data before it reaches the hosts; each rank looks at what its host has.
  void data_on_a_host_that_are_not_those_of_the_launcher_are_named() {
    const FakeHosts hosts;
    QTemporaryDir folder;
    const QString text = folder.filePath("text.txt"), launcher = folder.filePath("launcher");
    write(text, QByteArray(20'000, 'a'));
    write(launcher, "#!/bin/sh\n[ $1 = b ] && printf x >> '" + text.toUtf8() + "'\nexec '" + hosts.launcher().toUtf8() +
                        "' \"$@\"\n");
    const QStringList train{"train",       preset("tiny_text"),
                            "--set",       "mesh.data=4",
                            "--set",       "model.seq_len=16",
                            "--set",       "model.embed_dim=32",
                            "--set",       "model.ff_dim=64",
                            "--set",       "data.path=" + text,
                            "--steps",     "2",
                            "--hosts",     "a:2,b:2",
                            "--interface", "lo",
                            "--launcher"};
    const ProgramResult same = shardrun(train + QStringList{hosts.launcher()});
    QVERIFY2(same.code == 0, qPrintable(same.errors));
    const ProgramResult other = shardrun(train + QStringList{launcher});
    QCOMPARE(other.code, 1);
    QVERIFY2(other.errors.contains("not those with which the run began: data.path: 'text.txt' had 20000 bytes and has "
                                   "20001"),
             qPrintable(other.errors));
    QCOMPARE(hosts.left(), QStringList());
  }

  void stages_on_several_hosts_train_as_on_one_data() {
    QTest::addColumn<QString>("list");
    QTest::newRow("workshop_gpipe") << "a:4,b:2";
    QTest::newRow("workshop_1f1b") << "a:2,b:2,c:2";
    QTest::newRow("workshop_interleaved") << "a:1,b:3";
    QTest::newRow("workshop_zero_bubble") << "a:1,b:5";
  }

  // The last mesh axis is that of the stages: a host has some stages of a replica and another the rest.
  void stages_on_several_hosts_train_as_on_one() {
    QFETCH(QString, list);
    const FakeHosts hosts;
    QTemporaryDir folder;
    const QString one = folder.filePath("one"), several = folder.filePath("several");
    const QStringList train{"train",  preset(QTest::currentDataTag()), "--set", "mesh.data=2", "--steps", "3",
                            "--jsonl"};
    ProgramResult alone = shardrun(train + QStringList{one});
    QVERIFY2(alone.code == 0, qPrintable(alone.errors));
    ProgramResult result = shardrun(train + QStringList{several} + hosts.options(list));
    QVERIFY2(result.code == 0, qPrintable(result.errors));
    QCOMPARE(losses(several).size(), 3);
    QVERIFY2(are_near(losses(several), losses(one)), qPrintable(result.output));
    QCOMPARE(hosts.left(), QStringList());
  }

  void a_lost_rank_or_agent_on_another_host_is_named_and_nothing_is_left_data() {
    QTest::addColumn<QString>("victim");
    QTest::addColumn<int>("signal");
    QTest::addColumn<QString>("words");
    QTest::newRow("rank killed") << "rank" << SIGKILL << "rank \\d was killed by SIGKILL";
    QTest::newRow("rank stopped") << "rank" << SIGSTOP << "rank \\d has been stopped by a signal";
    QTest::newRow("daemon killed") << "orted" << SIGKILL
                                   << "host b \\(ranks 2 to 3\\): Open MPI's daemon was killed by SIGKILL";
    QTest::newRow("mpirun killed") << "mpirun" << SIGKILL << "mpirun was killed by SIGKILL";
    QTest::newRow("mpirun killed, a daemon stopped")
        << "mpirun of a stopped daemon" << SIGKILL << "mpirun was killed by SIGKILL";
    QTest::newRow("mpirun stopped") << "mpirun" << SIGSTOP << "mpirun has been stopped by a signal";
    QTest::newRow("agent killed") << "agent" << SIGKILL << "host b \\(ranks 2 to 3\\): its agent";
    QTest::newRow("agent stopped")
        << "agent" << SIGSTOP << "host b \\(ranks 2 to 3\\): does not answer for 3 s \\(--deadline host=SECONDS\\)";
  }

  void a_lost_rank_or_agent_on_another_host_is_named_and_nothing_is_left() {
    QFETCH(QString, victim);
    QFETCH(int, signal);
    QFETCH(QString, words);
    const FakeHosts hosts;
    QProcess process;
    process.start(QCoreApplication::applicationFilePath(),
                  QStringList{"train"} + small_model() + QStringList{"--steps", "100000000", "--deadline", "host=3"} +
                      hosts.options("a:2,b:2"));
    QByteArray output;
    while (!output.contains("Epoch 3") && process.waitForReadyRead(60'000)) output += process.readAllStandardOutput();
    QVERIFY2(output.contains("Epoch 3"), process.readAllStandardError().constData());
    const QList<int> agents = agents_of(process);
    QCOMPARE(agents.size(), 2);
    const int agent = agents.last();
    int target = agent;
    if (victim == "mpirun of a stopped daemon") {
      const QList<int> daemons = descendants_named(agent, "orted");
      QVERIFY(!daemons.isEmpty());
      ::kill(daemons.first(), SIGSTOP);
    }
    if (victim.startsWith("mpirun")) {
      target = descendants_named(static_cast<int>(process.processId()), "mpirun --oversubscribe").value(0);
      QVERIFY(target > 0);
    } else if (victim != "agent") {
      const QList<int> below = descendants_named(agent, victim == "rank" ? " rank" : "orted");
      QVERIFY(!below.isEmpty());
      target = below.first();
    }
    std::vector<ProcessId> all = descendants(static_cast<int>(process.processId()));
    ::kill(target, signal);
    const ProgramResult result = finish(process);
    QCOMPARE(result.code, 1);
    QVERIFY2(QRegularExpression(words).match(result.errors).hasMatch(), qPrintable(result.errors));
    if (target == agent && signal == SIGSTOP) ::kill(agent, SIGCONT);  // it then finds that the launcher has gone
    QVERIFY(eventually([&] { return std::ranges::none_of(all, [](const ProcessId& one) { return is_alive(one); }); }));
    if (!(victim == "agent" && signal == SIGKILL)) QVERIFY(eventually([&] { return hosts.left().isEmpty(); }));
  }

  // From before the agents come until all have: far more than are taken at a time.
  void a_flood_of_connections_at_the_port_of_the_agents_changes_nothing_data() {
    QTest::addColumn<QByteArray>("bytes");
    QTest::newRow("silent") << QByteArray();
    QTest::newRow("one byte") << QByteArray("x");
    QTest::newRow("many bytes") << QByteArray(5000, 'x');
  }

  void a_flood_of_connections_at_the_port_of_the_agents_changes_nothing() {
    QFETCH(QByteArray, bytes);
    const FakeHosts hosts;
    QTemporaryDir folder;
    const QString go = folder.filePath("go");
    for (const char* host : {"a", "b"}) {
      write(hosts.program_of(host), QString("#!/bin/sh\nwhile [ ! -e '%1' ]; do sleep 0.05; done\nexec '%2' \"$@\"\n")
                                        .arg(go, QCoreApplication::applicationFilePath())
                                        .toUtf8());
    }
    QProcess process;
    process.start(QCoreApplication::applicationFilePath(),
                  QStringList{"train"} + small_model() + QStringList{"--steps", "2"} + hosts.options("a:2,b:2"));
    QVERIFY(process.waitForStarted());
    int port = 0;
    QVERIFY(eventually([&] {
      for (const ListeningPort& one : listening_ports(static_cast<int>(process.processId()))) port = one.port;
      return port > 0;
    }));
    std::vector<int> peers;
    const auto connect = [&] {
      sockaddr_in address{};
      address.sin_family = AF_INET;
      address.sin_port = htons(static_cast<uint16_t>(port));
      address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
      peers.push_back(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
      ::connect(peers.back(), reinterpret_cast<const sockaddr*>(&address), sizeof address);
      ::send(peers.back(), bytes.constData(), static_cast<size_t>(bytes.size()), MSG_NOSIGNAL | MSG_DONTWAIT);
    };
    while (peers.size() < 300) connect();
    write(go, "go");
    while (process.state() == QProcess::Running && !process.waitForFinished(1)) {
      if (peers.size() < 900) connect();
    }
    const ProgramResult result = finish(process);
    for (int peer : peers) ::close(peer);
    QVERIFY2(result.code == 0, qPrintable(result.errors));
    QCOMPARE(hosts.left(), QStringList());
  }

  void a_host_that_cannot_be_reached_is_named() {
    ProgramResult result = shardrun(QStringList{"train"} + small_model() +
                                    QStringList{"--hosts", "a:2,b:2", "--interface", "lo", "--launcher", "false"});
    QCOMPARE(result.code, 1);
    QVERIFY2(result.errors.contains("its agent could not be started, or has ended"), qPrintable(result.errors));
    const FakeHosts hosts;
    write(hosts.program_of("b"), "#!/bin/sh\nexec sleep 60\n");
    result = shardrun(QStringList{"train"} + small_model() + hosts.options("a:2,b:2") +
                      QStringList{"--deadline", "agent=1"});
    QCOMPARE(result.code, 1);
    QVERIFY2(
        result.errors.contains("host b (ranks 2 to 3): its agent has not come within 1 s (--deadline agent=SECONDS)"),
        qPrintable(result.errors));
    result = shardrun(QStringList{"train"} + small_model() + QStringList{"--hosts", "nowhere.invalid:4"});
    QVERIFY2(result.errors.contains("host 'nowhere.invalid' is not known"), qPrintable(result.errors));
    result = shardrun(QStringList{"train"} + small_model() + QStringList{"--hosts", "a:2,b:1"});
    QCOMPARE(result.code, 2);
    QVERIFY2(result.errors.contains("they take 3 ranks, the mesh has 4 devices"), qPrintable(result.errors));
  }

  void a_plan_says_which_collectives_cross_hosts() {
    const QStringList plan = QStringList{"plan"} + small_model() + QStringList{"--json"};
    auto hosts_by_axes = [](const ProgramResult& result) {
      QMap<QString, QSet<int>> found;
      for (const QJsonValue& one : QJsonDocument::fromJson(result.output.toUtf8()).object()["collectives"].toArray()) {
        QStringList axes;
        for (const QJsonValue& axis : one["axes"].toArray()) axes += axis.toString();
        found[axes.join(",")] += one["group_hosts"].toInt();
      }
      return found;
    };
    const auto one = hosts_by_axes(shardrun(plan)),
               two = hosts_by_axes(shardrun(plan + QStringList{"--hosts", "a:2,b:2"}));
    QVERIFY(one.contains("data") && one.contains("model"));
    QCOMPARE(one["data"], QSet<int>{1});
    QCOMPARE(two["data"], QSet<int>{2});
    QCOMPARE(two["model"], QSet<int>{1});
  }

  void memory_is_asked_of_each_host_and_not_of_the_launchers() {
    const FakeHosts hosts;
    QTemporaryDir folder;
    Machine small = reference_host();
    small.device.memory_bytes = 1 << 20;
    save_machine(small, folder.filePath("machine").toStdString());
    const QStringList train = QStringList{"train"} + small_model() + QStringList{"--steps", "1"};
    ProgramResult result = shardrun(train + QStringList{"--machine", folder.filePath("machine")});
    QCOMPARE(result.code, 2);
    QVERIFY2(result.errors.contains("the host has 1.00 MiB"), qPrintable(result.errors));
    result = shardrun(train + QStringList{"--machine", folder.filePath("machine")} + hosts.options("a:2,b:2"));
    QVERIFY2(result.code == 0, qPrintable(result.errors));
    result = shardrun(train + QStringList{"--set", "model.vocab_size=1000000000"} + hosts.options("a:3,b:1"));
    QCOMPARE(result.code, 1);
    for (const char* host : {"host a (ranks 0 to 2)", "host b (ranks 3 to 3)"})
      QVERIFY2(result.errors.contains(QString("%1: the ranks need ").arg(host)), qPrintable(result.errors));
    QVERIFY2(result.errors.contains("--force trains all the same"), qPrintable(result.errors));
    QCOMPARE(hosts.left(), QStringList());
  }

  void a_pause_stops_the_ranks_of_all_hosts_until_it_is_over() {
    const FakeHosts hosts;
    QProcess process;
    process.setChildProcessModifier([] { ::signal(SIGTSTP, SIG_DFL); });
    process.start(
        QCoreApplication::applicationFilePath(),
        QStringList{"train"} + small_model() + QStringList{"--steps", "100000000"} + hosts.options("a:2,b:2"));
    const auto trains_on = [&] {
      QByteArray output;
      while (output.count("Epoch") < 3 && process.waitForReadyRead(60'000)) output += process.readAllStandardOutput();
      return output.count("Epoch") >= 3;
    };
    QVERIFY2(trains_on(), process.readAllStandardError().constData());
    const auto launcher = static_cast<pid_t>(process.processId());
    QList<int> ranks;
    for (int agent : agents_of(process)) ranks += descendants_named(agent, " rank");
    QCOMPARE(ranks.size(), 4);
    const auto are_stopped = [&] {
      return std::ranges::count_if(ranks, [](int rank) { return look_at_process(rank).info.state == 'T'; });
    };
    for (int time = 0; time < 2; ++time) {
      ::kill(launcher, SIGTSTP);
      QVERIFY(eventually([&] { return are_stopped() == 4 && look_at_process(launcher).info.state == 'T'; }));
      while (process.waitForReadyRead(100)) process.readAllStandardOutput();
      ::kill(launcher, SIGCONT);
      QVERIFY2(trains_on(), process.readAllStandardError().constData());
      QVERIFY(eventually([&] { return are_stopped() == 0; }));  // what was printed before the pause is read first
    }
    ::kill(launcher, SIGINT);
    const ProgramResult result = finish(process);
    QCOMPARE(result.code, 130);
    QCOMPARE(hosts.left(), QStringList());
  }

  void an_interrupt_ends_all_hosts() {
    const FakeHosts hosts;
    QProcess process;
    process.start(
        QCoreApplication::applicationFilePath(),
        QStringList{"train"} + small_model() + QStringList{"--steps", "100000000"} + hosts.options("a:2,b:2"));
    QByteArray output;
    while (!output.contains("Epoch 3") && process.waitForReadyRead(60'000)) output += process.readAllStandardOutput();
    std::vector<ProcessId> all = descendants(static_cast<int>(process.processId()));
    ::kill(static_cast<pid_t>(process.processId()), SIGINT);
    const ProgramResult result = finish(process);
    QCOMPARE(result.code, 130);
    QVERIFY2(result.errors.contains("interrupted after"), qPrintable(result.errors));
    QVERIFY(std::ranges::none_of(all, [](const ProcessId& one) { return is_alive(one); }));
    QCOMPARE(hosts.left(), QStringList());
  }

 private:
  QMap<int, QList<double>> losses_on_one_host_;  // of small_model, by `data`

  static void write(const QString& path, const QByteArray& text) {
    QFile file(path);
    if (!file.open(QIODevice::WriteOnly) || file.write(text) != text.size()) qFatal("cannot write a file");
    file.setPermissions(QFile::ReadOwner | QFile::WriteOwner | QFile::ExeOwner);
  }
  static QString command_of(int pid) {
    QFile file(QString("/proc/%1/cmdline").arg(pid));
    return file.open(QIODevice::ReadOnly) ? QString::fromUtf8(file.readAll().replace('\0', ' ')) : QString();
  }
  // In the order of their hosts.
  static QList<int> agents_of(const QProcess& process) {
    QMap<QString, int> found;
    for (const ProcessId& one : descendants(static_cast<int>(process.processId()))) {
      const QString command = command_of(one.pid);
      if (command.contains(" host-agent ") && !command.startsWith("sh ") && !command.contains("/launcher "))
        found[command.section("--host ", 1)] = one.pid;
    }
    return found.values();
  }
  static QList<int> descendants_named(int pid, const QString& word) {
    QList<int> found;
    for (const ProcessId& one : descendants(pid)) {
      if (command_of(one.pid).contains(word) && !command_of(one.pid).startsWith("/bin/sh")) found += one.pid;
    }
    return found;
  }
};

REGISTER_PROGRAM_TEST(FakeHostsTest)

}  // namespace fake_hosts_test

#include "fake_hosts_test.moc"
