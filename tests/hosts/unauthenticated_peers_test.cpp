#include <fcntl.h>
#include <sys/socket.h>
#include <QMap>
#include <csignal>

#include "tests/hosts/fake_hosts.h"
#include "tests/hosts/listening.h"
#include "tests/hosts/trained.h"

namespace unauthenticated_peers_test {

using namespace shardscope;

namespace {

// Connections to all TCP ports of a run, `per_port` to each, held open, which say `bytes`.
class UnauthenticatedPeers {
 public:
  UnauthenticatedPeers(int per_port, const QByteArray& bytes) : per_port_(per_port), bytes_(bytes) {}
  ~UnauthenticatedPeers() {
    for (int socket : sockets_) ::close(socket);
  }
  UnauthenticatedPeers(const UnauthenticatedPeers&) = delete;
  UnauthenticatedPeers& operator=(const UnauthenticatedPeers&) = delete;

  void visit(int run) {
    for (const ListeningPort& port : listening_ports(run)) {
      for (int& count = visited_[port.port]; count < per_port_; ++count) connect_to(port);
    }
  }
  int ports() const { return static_cast<int>(visited_.size()); }

 private:
  void connect_to(const ListeningPort& port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(port.port));
    ::inet_pton(AF_INET, port.address == "0.0.0.0" ? "127.0.0.1" : port.address.c_str(), &address.sin_addr);
    const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockets_.push_back(socket);
    if (::connect(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) return;
    ::send(socket, bytes_.constData(), static_cast<size_t>(bytes_.size()), MSG_NOSIGNAL | MSG_DONTWAIT);
  }

  int per_port_;
  QByteArray bytes_;
  QMap<int, int> visited_;
  std::vector<int> sockets_;
};

bool trains(QProcess& process) {
  QByteArray output;
  while (!output.contains("Epoch 3") && process.waitForReadyRead(60'000)) output += process.readAllStandardOutput();
  return output.contains("Epoch 3");
}

}  // namespace

// Who connects to the ports of a run without being part of it.
class UnauthenticatedPeersTest : public QObject {
  Q_OBJECT

 private slots:
  void all_ports_of_a_run_are_on_the_interface_in_use_data() { one_host_and_several(); }

  void all_ports_of_a_run_are_on_the_interface_in_use() {
    const FakeHosts fake;
    QProcess process;
    start(process, fake, "100000000");
    QVERIFY2(trains(process), process.readAllStandardError().constData());
    const std::vector<ListeningPort> ports = listening_ports(static_cast<int>(process.processId()));
    process.terminate();
    const ProgramResult result = finish(process);
    QVERIFY2(ports.size() >= 5, qPrintable(result.errors));  // of mpirun and four ranks
    for (const ListeningPort& port : ports) QCOMPARE(port.address, std::string("127.0.0.1"));
  }

  void connections_to_all_ports_of_a_run_from_its_start_do_not_change_it_data() {
    QTest::addColumn<QString>("hosts");
    QTest::addColumn<QByteArray>("bytes");
    for (const char* where : {"", "a:2,b:2"}) {
      const QByteArray on = *where ? ", two hosts" : ", one host";
      QTest::newRow("silent" + on) << where << QByteArray();
      QTest::newRow("one byte" + on) << where << QByteArray("x");
      QTest::newRow("many bytes" + on) << where << QByteArray(10000, 'x');
    }
  }

  void connections_to_all_ports_of_a_run_from_its_start_do_not_change_it() {
    QFETCH(QByteArray, bytes);
    const FakeHosts fake;
    int ports = 0;
    // On a machine with other work a run can end before its ports have been seen: then a longer one.
    for (int steps = 200; ports < 5 && steps <= 200'000; steps *= 10) {
      QProcess process;
      start(process, fake, QString::number(steps));
      UnauthenticatedPeers peers(30, bytes);
      QVERIFY(process.waitForStarted());
      while (!process.waitForFinished(50) && process.state() == QProcess::Running) {
        peers.visit(static_cast<int>(process.processId()));
      }
      const ProgramResult result = finish(process);
      QVERIFY2(result.code == 0, qPrintable(result.errors));
      QVERIFY2(!result.errors.contains("warning"), qPrintable(result.errors));
      ports = peers.ports();
    }
    QVERIFY(ports >= 5);
  }

 private:
  static void one_host_and_several() {
    QTest::addColumn<QString>("hosts");
    QTest::newRow("one host") << "";
    QTest::newRow("two hosts") << "a:2,b:2";
  }

  static void start(QProcess& process, const FakeHosts& fake, const QString& steps) {
    QFETCH(QString, hosts);
    QStringList train = QStringList{"train"} + small_model() + QStringList{"--steps", steps};
    if (!hosts.isEmpty()) train += fake.options(hosts);
    process.start(QCoreApplication::applicationFilePath(), train);
  }
};

REGISTER_PROGRAM_TEST(UnauthenticatedPeersTest)

}  // namespace unauthenticated_peers_test

#include "unauthenticated_peers_test.moc"
