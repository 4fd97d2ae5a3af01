#include "engine/session/run_hosts.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <QFile>
#include <QRegularExpression>
#include <QTemporaryDir>
#include <QTest>
#include <QVariant>
#include <algorithm>
#include <cstring>
#include <ctime>
#include <list>
#include <memory>
#include <nlohmann/json.hpp>

#include "engine/base/error.h"
#include "engine/base/loaded_code.h"
#include "engine/session/agent_port.h"
#include "engine/session/host_agent.h"
#include "engine/session/host_network.h"
#include "engine/session/telemetry.h"
#include "tests/patience.h"
#include "tests/session/socket_client.h"
#include "tests/test_program.h"

namespace run_hosts_test {

using namespace shardscope;
using nlohmann::json;

namespace {

// A connection to a port of this machine.
class Connection {
 public:
  explicit Connection(int port, const char* address = "127.0.0.1")
      : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in there{};
    there.sin_family = AF_INET;
    there.sin_port = htons(static_cast<uint16_t>(port));
    ::inet_pton(AF_INET, address, &there.sin_addr);
    connected_ = ::connect(socket_, reinterpret_cast<const sockaddr*>(&there), sizeof there) == 0;
  }
  ~Connection() {
    if (socket_ >= 0) ::close(socket_);
  }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  bool connected() const { return connected_; }
  int take() { return std::exchange(socket_, -1); }
  void say(const char* text) const { ::send(socket_, text, std::strlen(text), MSG_NOSIGNAL); }
  // The other side has ended it; what it has said is thrown away.
  bool is_closed() const {
    char bytes[256];
    ssize_t got = 0;
    while ((got = ::recv(socket_, bytes, sizeof bytes, MSG_DONTWAIT)) > 0) {
    }
    return got == 0 || (errno != EAGAIN && errno != EWOULDBLOCK);
  }

 private:
  int socket_;
  bool connected_ = false;
};

}  // namespace

// The launcher's side of hosts. Their launcher only keeps what it was given (the port, the secret); the agents are the
// test's own.
class RunHostsTest : public QObject {
  Q_OBJECT

  std::unique_ptr<QTemporaryDir> folder_;
  std::unique_ptr<RunHosts> hosts_;
  std::list<HostLink> agents_;
  std::vector<LogMessage> lines_;
  std::string failure_;

  QString path(const QString& name) const { return folder_->filePath(name); }
  QByteArray text(const QString& name) const {
    QFile file(path(name));
    return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray();
  }

  RunHostsOptions options() const {
    RunHostsOptions options;
    options.hosts = {{"a", 0, 4}, {"b", 4, 2}};
    options.launcher = {path("launcher").toStdString()};
    options.interface = "lo";
    options.program = "shardrun";
    return options;
  }
  void start(RunHostsOptions options) {
    hosts_ = std::make_unique<RunHosts>(std::move(options), folder_->path().toStdString(), RunHosts::Files{});
    QTRY_VERIFY_WITH_TIMEOUT(text("a").count('\n') == 2 && text("b").count('\n') == 2, patience);
  }
  int port() const { return text("a").split('\n')[0].split(':')[1].split('\'')[0].toInt(); }
  std::string secret(const QString& host) const { return text(host).split('\n')[1].toStdString(); }

  void serve() {
    const RunHosts::News news = hosts_->serve();
    lines_.insert(lines_.end(), news.lines.begin(), news.lines.end());
    if (news.failure) failure_ = *news.failure;
    for (HostLink& agent : agents_) {
      try {
        agent.write();
        agent.read();
      } catch (const Failure&) {
      }
    }
  }
  // How many sockets poll() says something of: 0 where it would wait.
  int woken_by() const {
    std::vector<pollfd> entries;
    hosts_->add_poll_entries(entries);
    return ::poll(entries.data(), entries.size(), 0);
  }

  // The agent of a host has come and says what machine it is on.
  void come(uint32_t host, const json& differing = json::object(), const std::string& without = "",
            HostFrameKind kind = HostFrameKind::ready) {
    Connection connection(port());
    QVERIFY(connection.connected());
    HostLink& agent = agents_.emplace_back(HostLink::of_agent(connection.take(), host, secret(host == 0 ? "a" : "b")));
    json machine{{"pid", 1 << 30},        {"start_time", 1},      {"cores", 4}, {"memory_bytes", int64_t{1} << 30},
                 {"instruction_set", ""}, {"code", loaded_code()}};
    machine.update(differing.is_null() ? json::object() : differing);
    machine.erase(without);
    agent.send(kind, machine.dump());
    QTRY_VERIFY_WITH_TIMEOUT((serve(), agent.is_trusted()), patience);
    for (int i = 0; i < 10; ++i) serve();
  }

 private slots:
  void init() {
    folder_ = std::make_unique<QTemporaryDir>();
    QFile launcher(path("launcher"));
    QVERIFY(launcher.open(QIODevice::WriteOnly));
    launcher.write("#!/bin/sh\ncd \"" + folder_->path().toUtf8() +
                   "\"\nread secret\nprintf '%s\\n%s\\n' \"$2\" \"$secret\" > \"$1\"\n");
    launcher.setPermissions(QFile::ReadOwner | QFile::WriteOwner | QFile::ExeOwner);
    launcher.close();
    failure_.clear();
    lines_.clear();
  }

  void cleanup() {
    agents_.clear();
    hosts_.reset();
  }

  void hosts_are_ready_when_all_their_agents_have_come() {
    start(options());
    come(0);
    QVERIFY(!hosts_->is_ready());
    come(1);
    QVERIFY(hosts_->is_ready());
    QCOMPARE(failure_, std::string());
    QCOMPARE(lines_.size(), size_t{2});
  }

  void a_host_that_cannot_have_its_ranks_is_named_with_the_reason_data() {
    QTest::addColumn<QString>("key");
    QTest::addColumn<QVariant>("value");
    QTest::addColumn<QString>("words");
    const QString here = QString::fromStdString(loaded_code());
    QTest::newRow("another build") << "code"
                                   << QVariant(QString(here).replace(QRegularExpression("program .*"), "program 00f"))
                                   << "host b (ranks 4 to 5): has another build of this program or its libraries: "
                                      "there program 00f, here program " +
                                          here.section("program ", 1) + "; install one everywhere";
    QTest::newRow("a build that does not tell") << "code" << QVariant() << "there not known, here " + here;
    QTest::newRow("too little memory")
        << "memory_bytes" << QVariant((3 << 20) - 1)
        << "host b (ranks 4 to 5): the ranks need 3,145,728 B together, 1.00 MiB of it for checkpoints, "
           "the host has 3,145,727 B (split more, or use a smaller batch; --force trains all the same)";
  }

  void a_host_that_cannot_have_its_ranks_is_named_with_the_reason() {
    QFETCH(QString, key);
    QFETCH(QVariant, value);
    QFETCH(QString, words);
    RunHostsOptions wanted = options();
    wanted.needed_bytes = 1 << 20;
    wanted.checkpoint_bytes = {100 << 20, 0, 0, 0, 1 << 20, 0};
    start(wanted);
    come(0);
    QCOMPARE(failure_, std::string());
    if (value.isNull()) come(1, {}, key.toStdString());
    else if (value.typeId() == QMetaType::QString) come(1, {{key.toStdString(), value.toString().toStdString()}});
    else come(1, {{key.toStdString(), value.toInt()}});
    QVERIFY2(failure_.find(words.toStdString()) != std::string::npos, failure_.c_str());
    QVERIFY(!hosts_->is_ready());
  }

  void a_host_of_little_memory_is_taken_where_that_is_not_asked() {
    start(options());
    come(0, {{"memory_bytes", 1}});
    come(1);
    QVERIFY(hosts_->is_ready());
  }

  void an_agent_that_reports_before_it_is_ready_is_not_read() {
    start(options());
    come(0);
    come(1, {}, "", HostFrameKind::report);
    QCOMPARE(failure_, std::string("host b (ranks 4 to 5): its agent reports before it is ready"));
  }

  void a_deadline_that_passes_is_named_with_its_option() {
    RunHostsOptions wanted = options();
    wanted.start_ns = 4'000'000'000;
    start(wanted);
    Connection peer(port());
    peer.say("x");
    come(0);
    QTRY_VERIFY_WITH_TIMEOUT((serve(), !failure_.empty()), patience);
    QCOMPARE(failure_,
             "host b (ranks 4 to 5): its agent has not come within 4 s (--deadline agent=SECONDS); 1 unauthenticated "
             "connections came to 127.0.0.1:" +
                 std::to_string(port()) + ", of which 0 were refused");
  }

  void agents_connect_to_the_address_of_the_interface_and_to_no_other() {
    start(options());
    QVERIFY(Connection(port(), "127.0.0.1").connected());
    QVERIFY(!Connection(port(), "127.0.0.2").connected());
  }

  void unauthenticated_connections_neither_keep_the_launcher_busy_nor_the_agents_out_data() {
    QTest::addColumn<QByteArray>("bytes");
    QTest::newRow("silent") << QByteArray();
    QTest::newRow("one byte") << QByteArray("x");
  }

  void unauthenticated_connections_neither_keep_the_launcher_busy_nor_the_agents_out() {
    QFETCH(QByteArray, bytes);
    start(options());
    std::list<Connection> peers;
    for (int i = 0; i < 300; ++i) {
      peers.emplace_back(port());
      peers.back().say(bytes.constData());
      if (i % 20 == 19) serve();
    }
    for (int i = 0; i < 20; ++i) serve();
    QTRY_COMPARE_WITH_TIMEOUT((serve(), woken_by()), 0, patience);
    come(0);
    come(1);
    QVERIFY(hosts_->is_ready());
  }

  // At times that the test gives, however long it takes.
  void of_unauthenticated_connections_the_newest_are_refused_and_the_message_counts_them() {
    AgentPort agents([](uint32_t) { return std::string(64, 's'); });
    const std::string place = agents.listen_at("127.0.0.1");
    const int port = QString::fromStdString(place).section(':', 1).toInt();
    QCOMPARE(agents.note(), std::string());
    std::list<Connection> peers;
    const size_t most = AgentPort::most_unauthenticated;
    for (size_t i = 0; i < most + 100; ++i) {
      peers.emplace_back(port);
      peers.back().say("x");
      if (i % 20 == 19) QVERIFY(agents.serve(0).empty());
    }
    const auto closed = [&] { return static_cast<size_t>(std::ranges::count_if(peers, &Connection::is_closed)); };
    QTRY_COMPARE_WITH_TIMEOUT((agents.serve(0), closed()), size_t{100}, patience);
    QVERIFY(!peers.front().is_closed());
    QVERIFY(peers.back().is_closed());
    const std::string note = "; " + std::to_string(most + 100) + " unauthenticated connections came to " + place +
                             ", of which 100 were refused";
    QCOMPARE(agents.note(), note);
    QVERIFY(agents.serve(AgentPort::unauthenticated_ns).empty());
    QCOMPARE(closed(), size_t{100});
    QVERIFY(agents.serve(AgentPort::unauthenticated_ns + 1).empty());
    QCOMPARE(closed(), most + 100);
    QCOMPARE(agents.note(), note);
  }

  void of_several_addresses_the_one_by_which_hosts_are_reached_is_listened_at() {
    QCOMPARE(own_address_of({}, ""), std::string());
    QCOMPARE(own_address_of({"10.0.0.1"}, ""), std::string("10.0.0.1"));
    QCOMPARE(own_address_of({"127.0.0.1", "127.0.0.2"}, ""), std::string("127.0.0.1"));
    QCOMPARE(own_address_of({"10.0.0.1", "10.0.0.2"}, "10.0.0.2"), std::string("10.0.0.2"));
    QCOMPARE(own_address_of({"10.0.0.1", "10.0.0.2"}, "10.0.0.3"), std::string());
    QCOMPARE(own_address_of({"10.0.0.1", "127.0.0.1"}, ""), std::string());
    QCOMPARE(own_address_in("127.0.0.0/8", ""), std::string("127.0.0.1"));
    const std::string warning = any_address_warning("10.0.0.0/24");
    QVERIFY(warning.starts_with("warning: ") && warning.find("10.0.0.0/24") != std::string::npos);
  }

  void a_host_that_never_comes_does_not_hide_why_another_is_unfit() {
    RunHostsOptions wanted = options();
    wanted.start_ns = 4'000'000'000;
    start(wanted);
    come(0, {{"code", "program 00f"}});
    QTRY_VERIFY_WITH_TIMEOUT((serve(), !failure_.empty()), patience);
    QVERIFY2(failure_.starts_with("host a (ranks 0 to 3): has another build of this program"), failure_.c_str());
    QVERIFY2(failure_.ends_with("; host b (ranks 4 to 5): its agent has not come within 4 s (--deadline "
                                "agent=SECONDS)"),
             failure_.c_str());
  }

  void an_agent_that_is_lost_does_not_hide_why_another_host_is_unfit() {
    start(options());
    come(0, {{"code", "program 00f"}});
    come(1, {}, "", HostFrameKind::failure);
    QVERIFY2(failure_.starts_with("host b (ranks 4 to 5): its agent: "), failure_.c_str());
    QVERIFY2(failure_.find("; host a (ranks 0 to 3): has another build") != std::string::npos, failure_.c_str());
  }

  void an_agent_that_is_refused_comes_again() {
    const std::string secret = new_host_secret();
    const int listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in own{};
    own.sin_family = AF_INET;
    own.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof own;
    QCOMPARE(::bind(listener, reinterpret_cast<const sockaddr*>(&own), length), 0);
    QCOMPARE(::listen(listener, 5), 0);
    ::getsockname(listener, reinterpret_cast<sockaddr*>(&own), &length);
    const pid_t agent = ::fork();
    if (agent == 0) {
      HostAgentOptions options;
      options.address = "127.0.0.1";
      options.port = ntohs(own.sin_port);
      options.secret = secret;
      ::_exit(run_host_agent(options));
    }
    for (int refused = 0; refused < 3; ++refused) ::close(::accept(listener, nullptr, nullptr));
    HostLink link = HostLink::of_launcher(::accept(listener, nullptr, nullptr), [&](uint32_t) { return secret; });
    QTRY_VERIFY_WITH_TIMEOUT((link.write(), link.read(), link.is_trusted()), patience);
    link.send(HostFrameKind::end);
    link.write();
    int status = -1;
    QCOMPARE(::waitpid(agent, &status, 0), agent);
    QCOMPARE(status, 0);
    ::close(listener);
  }

  void once_all_agents_have_come_nobody_is_listened_to() {
    start(options());
    Connection peer(port());
    peer.say("x");
    come(0);
    come(1);
    QVERIFY(peer.is_closed());
    QVERIFY(!Connection(port()).connected());
    QCOMPARE(hosts_->mpirun_hosts().networks, std::string("127.0.0.0/8"));
  }

  void an_end_that_is_waited_for_keeps_the_launcher_idle() {
    start(options());
    come(0);
    come(1);
    {
      const SocketClient shell(path("shell").toStdString());
      serve();
    }
    const std::clock_t before = std::clock();
    const int64_t start_ns = monotonic_ns();
    hosts_->end(500'000'000);
    QVERIFY(static_cast<double>(std::clock() - before) / CLOCKS_PER_SEC <
            0.5e-9 * static_cast<double>(monotonic_ns() - start_ns));
  }

  void without_descriptors_nobody_is_listened_to_for_a_while() {
    start(options());
    const Connection peer(port());
    peer.say("x");
    const SocketClient shell(path("shell").toStdString());
    QTRY_COMPARE_WITH_TIMEOUT(woken_by(), 2, patience);
    rlimit limit{};
    QCOMPARE(::getrlimit(RLIMIT_NOFILE, &limit), 0);
    const rlimit none{3, limit.rlim_max};
    QCOMPARE(::setrlimit(RLIMIT_NOFILE, &none), 0);
    serve();
    ::setrlimit(RLIMIT_NOFILE, &limit);
    QCOMPARE(woken_by(), 0);
    QTRY_COMPARE_WITH_TIMEOUT(woken_by(), 2, patience);
    come(0);
    come(1);
    QVERIFY(hosts_->is_ready());
  }
};

REGISTER_CORE_TEST(RunHostsTest)

}  // namespace run_hosts_test

#include "run_hosts_test.moc"
