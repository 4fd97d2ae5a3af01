#include <unistd.h>
#include <QMap>
#include <QRegularExpression>
#include <csignal>
#include <functional>

#include "engine/session/processes.h"
#include "tests/hosts/listening.h"
#include "tests/hosts/trained.h"
#include "tests/patience.h"

namespace namespaces_test {

using namespace shardscope;

namespace {

const QString script = SHARDSCOPE_SOURCE_DIR "/tests/hosts/hosts.sh";

int run_script(const QStringList& arguments, QString* output = nullptr) {
  QProcess process;
  process.start(script, arguments);
  process.waitForFinished(60'000);
  if (output) *output = process.readAllStandardOutput() + process.readAllStandardError();
  return process.exitStatus() == QProcess::NormalExit ? process.exitCode() : -1;
}

}  // namespace

// Two hosts with a network between them, made of network namespaces by hosts.sh.
class NamespacesTest : public QObject {
  Q_OBJECT

 private slots:
  void initTestCase() {
    if (::geteuid() != 0) QSKIP("hosts are made of network namespaces by root alone");
    run_script({"remove", prefix_, "2"});
    QString output;
    made_ = run_script({"make", prefix_, "2"}, &output) == 0;
    if (!made_) run_script({"remove", prefix_, "2"});
    if (!made_) QSKIP(qPrintable("network namespaces cannot be made here: " + output.trimmed()));
  }

  void cleanupTestCase() {
    if (made_) run_script({"remove", prefix_, "2"});
  }

  void two_hosts_train_as_one() {
    QTemporaryDir folder;
    const QString one = folder.filePath("one"), two = folder.filePath("two");
    const QStringList train = QStringList{"train"} + small_model() + QStringList{"--steps", "5", "--jsonl"};
    const ProgramResult alone = shardrun(train + QStringList{one});
    QVERIFY2(alone.code == 0, qPrintable(alone.errors));
    QProcess process;
    start(process, train + QStringList{two});
    const ProgramResult result = finish(process);
    QVERIFY2(result.code == 0, qPrintable(result.errors));
    QVERIFY(are_near(losses(two), losses(one)));
    QVERIFY(eventually([this] { return left() == QString(); }));
  }

  void all_ports_of_a_run_are_on_the_network_in_use() {
    QProcess process;
    train_endlessly(process);
    int outside = 0;
    for (int host : {0, 1}) {
      const QList<int> ranks = processes(host, " rank");
      QVERIFY(!ranks.isEmpty());
      for (const auto& [socket, port] : listening_in_network_of(ranks.first())) {
        const bool is_outside = !port.address.starts_with("127.");
        outside += is_outside;
        QVERIFY2(!is_outside || port.address.ends_with("." + std::to_string(host + 1)), port.address.c_str());
      }
    }
    QVERIFY(outside >= 4);
    process.terminate();
    finish(process);
    QVERIFY2(eventually([this] { return left() == QString(); }), qPrintable(left()));
  }

  void a_rank_lost_on_the_other_host_is_named_data() {
    QTest::addColumn<int>("signal");
    QTest::addColumn<QString>("words");
    QTest::newRow("killed") << SIGKILL << "SIGKILL";
    QTest::newRow("stopped") << SIGSTOP << "stopped by a signal";
  }

  void a_rank_lost_on_the_other_host_is_named() {
    QFETCH(int, signal);
    QFETCH(QString, words);
    QProcess process;
    train_endlessly(process);
    const int rank = processes(1, " rank").value(1);
    QVERIFY(rank > 0);
    ::kill(rank, signal);
    const ProgramResult result = finish(process);
    QCOMPARE(result.code, 1);
    QVERIFY2(QRegularExpression("rank [23] .*" + words).match(result.errors).hasMatch(), qPrintable(result.errors));
    QVERIFY2(eventually([this] { return left() == QString(); }), qPrintable(left()));
  }

  void a_host_that_vanishes_is_named_and_has_ended_its_ranks_when_it_comes_back() {
    QProcess process;
    train_endlessly(process, {"--deadline", "host=4"});
    QVERIFY(!processes(1, " rank").isEmpty());
    QCOMPARE(run_script({"link", prefix_ + "h1", "down"}), 0);
    const ProgramResult result = finish(process);
    QCOMPARE(result.code, 1);
    QVERIFY2(result.errors.contains(QString("host %1h1 (ranks 2 to 3): does not answer").arg(prefix_)),
             qPrintable(result.errors));
    QVERIFY2(result.errors.contains("cannot be reached"), qPrintable(result.errors));
    QVERIFY2(eventually([this] { return processes(1, "").isEmpty(); }), qPrintable(left()));
    QCOMPARE(run_script({"link", prefix_ + "h1", "up"}), 0);
    QVERIFY2(left() == QString(), qPrintable(left()));
  }

  void an_agent_that_is_killed_is_named_and_its_ranks_end() {
    QProcess process;
    train_endlessly(process);
    const QList<int> agents = processes(1, " host-agent ");
    QVERIFY(!agents.isEmpty());
    ::kill(agents.last(), SIGKILL);
    const ProgramResult result = finish(process);
    QCOMPARE(result.code, 1);
    QVERIFY2(result.errors.contains(QString("host %1h1 (ranks 2 to 3): its agent").arg(prefix_)),
             qPrintable(result.errors));
    QVERIFY2(eventually([this] { return left() == QString(); }), qPrintable(left()));
  }

 private:
  void start(QProcess& process, const QStringList& arguments) const {
    if (!made_) return;
    process.setProcessEnvironment([&] {
      QProcessEnvironment environment = QProcessEnvironment::systemEnvironment();
      environment.insert("SHARDSCOPE_LAUNCHER", script + " launch");
      return environment;
    }());
    process.start(script, QStringList{"on", prefix_ + "h0", QCoreApplication::applicationFilePath()} + arguments +
                              QStringList{"--hosts", QString("%1h0:2,%1h1:2").arg(prefix_)});
  }

  void train_endlessly(QProcess& process, const QStringList& more = {}) const {
    start(process, QStringList{"train"} + small_model() + QStringList{"--steps", "100000000"} + more);
    QByteArray output;
    while (!output.contains("Epoch 3") && process.waitForReadyRead(60'000)) output += process.readAllStandardOutput();
    QVERIFY2(output.contains("Epoch 3"), process.readAllStandardError().constData());
  }

  // On a host, with this word in their command lines.
  QList<int> processes(int host, const QString& word) const {
    QString numbers;
    run_script({"processes", prefix_ + "h" + QString::number(host)}, &numbers);
    QList<int> found;
    for (const QString& number : numbers.split('\n', Qt::SkipEmptyParts)) {
      QFile file("/proc/" + number + "/cmdline");
      if (!file.open(QIODevice::ReadOnly)) continue;
      if (QString::fromUtf8(file.readAll().replace('\0', ' ')).contains(word)) found += number.toInt();
    }
    return found;
  }

  // Processes on both hosts, as text.
  QString left() const {
    QStringList found;
    for (int host : {0, 1}) {
      for (int pid : processes(host, "")) found += QString("%1 on host %2").arg(pid).arg(host);
    }
    return found.join(", ");
  }

  QString prefix_ = QString("t%1").arg(::getpid() % 10000);
  bool made_ = false;
};

REGISTER_PROGRAM_TEST(NamespacesTest)

}  // namespace namespaces_test

#include "namespaces_test.moc"
