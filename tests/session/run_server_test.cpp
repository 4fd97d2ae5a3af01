#include "engine/session/run_server.h"

#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <QTemporaryDir>
#include <QTest>
#include <algorithm>
#include <list>
#include <memory>

#include "engine/base/error.h"
#include "tests/session/socket_client.h"
#include "tests/test_program.h"

namespace run_server_test {

using namespace shardscope;

namespace {

class Client : public SocketClient {
 public:
  explicit Client(const std::string& path) : SocketClient(path, SOCK_NONBLOCK) {}

  void send(const std::string& text) { QCOMPARE(SocketClient::send(text), std::ssize(text)); }
  // What has come so far.
  std::string receive() {
    std::string text;
    char bytes[65536];
    for (ssize_t got; (got = ::recv(socket_, bytes, sizeof bytes, 0)) > 0;)
      text.append(bytes, static_cast<size_t>(got));
    return text;
  }
  bool is_closed() {
    char byte;
    return ::recv(socket_, &byte, 1, MSG_PEEK) == 0;
  }
};

constexpr size_t bound = 100000;

}  // namespace

class RunServerTest : public QObject {
  Q_OBJECT

  std::unique_ptr<QTemporaryDir> directory_;
  std::unique_ptr<RunServer> server_;
  std::string greeting_ = "hello\n";

  std::vector<RunServer::Asked> serve(int times = 10) {
    std::vector<RunServer::Asked> all;
    for (int i = 0; i < times; ++i) {
      for (const auto& asked : server_->serve()) all.push_back(asked);
    }
    return all;
  }

 private slots:
  void init() {
    greeting_ = "hello\n";
    directory_ = std::make_unique<QTemporaryDir>();
    server_ = std::make_unique<RunServer>(
        directory_->filePath("socket").toStdString(), [this] { return greeting_; }, bound);
  }

  void a_socket_that_another_has_made_at_the_path_since_stays() {
    const std::string path = server_->path();
    QVERIFY(QFile::remove(QString::fromStdString(path)));
    auto next = std::make_unique<RunServer>(
        path, [] { return "next\n"; }, bound);
    server_.reset();
    Client client(path);
    next->serve();
    QCOMPARE(client.receive(), std::string("next\n"));
    next.reset();
    QVERIFY(!QFile::exists(QString::fromStdString(path)));
  }

  void every_client_gets_its_greeting_and_then_every_line() {
    Client first(server_->path());
    serve();
    server_->send("one\n");
    Client second(server_->path());
    serve();
    server_->send("two\n");
    QCOMPARE(first.receive(), std::string("hello\none\ntwo\n"));
    QCOMPARE(second.receive(), std::string("hello\ntwo\n"));
  }

  void a_client_that_does_not_read_is_dropped_at_its_bound_and_no_other() {
    Client silent(server_->path()), attentive(server_->path());
    serve();
    std::string received;
    const std::string line = std::string(999, 'x') + "\n";
    int lines = 0;
    while (server_->clients() == 2 && lines < 10000) {
      server_->send(line);
      ++lines;
      received += attentive.receive();
    }
    QCOMPARE(server_->clients(), size_t{1});
    QVERIFY(lines * line.size() > bound);
    serve();
    received += attentive.receive();
    QCOMPARE(received.size(), std::string("hello\n").size() + static_cast<size_t>(lines) * line.size());
    silent.receive();
    QVERIFY(silent.is_closed());
  }

  void a_greeting_of_any_size_arrives_and_is_not_held_against_the_client() {
    greeting_ = std::string(20 * bound, 'g') + "\n";
    Client client(server_->path());
    serve(1);
    server_->send("line\n");
    std::string received;
    for (int i = 0; i < 1000 && received.size() < greeting_.size() + 5; ++i) {
      received += client.receive();
      serve(1);
    }
    QCOMPARE(received.size(), greeting_.size() + 5);
  }

  void one_client_is_greeted_and_one_answered_at_a_time() {
    std::list<Client> clients;
    for (int i = 0; i < 3; ++i) clients.emplace_back(server_->path());
    for (size_t i = 1; i <= 3; ++i) {
      serve(1);
      QCOMPARE(server_->clients(), i);
    }
    for (Client& client : clients) {
      client.receive();
      client.send(to_json_line(Request::steps(0, 10)) + to_json_line(Request::steps(10, 20)));
    }
    std::vector<uint64_t> answered;
    for (int i = 0; i < 6; ++i) {
      const auto asked = serve(1);
      QCOMPARE(asked.size(), size_t{1});
      QCOMPARE(asked[0].request.from, i < 3 ? int64_t{0} : int64_t{10});
      answered.push_back(asked[0].client);
    }
    std::ranges::sort(answered);
    QVERIFY((answered == std::vector<uint64_t>{1, 1, 2, 2, 3, 3}));
    server_->send_to(2, "answer\n");
    serve();
    QCOMPARE(clients.front().receive(), std::string());
    QCOMPARE(std::next(clients.begin())->receive(), std::string("answer\n"));
    server_->send_to(99, "nobody\n");
  }

  void a_stop_is_received_from_a_client_that_does_not_read() {
    Client client(server_->path());
    serve();
    for (int i = 0; i < 50; ++i) server_->send(std::string(1000, 'x') + "\n");
    client.send(to_json_line(Request::steps(0, 10)) + to_json_line(Request::stop));
    const auto asked = serve();
    QVERIFY(std::ranges::any_of(asked, [](const auto& one) { return one.request == Request::stop; }));
  }

  void a_client_that_asks_without_end_is_dropped() {
    Client client(server_->path());
    serve();
    for (int i = 0; i < 25; ++i) server_->send(std::string(10000, 'x') + "\n");
    std::string flood;
    for (int i = 0; i < 200; ++i) flood += to_json_line(Request::steps(0, 10));
    client.send(flood);
    serve();
    QCOMPARE(server_->clients(), size_t{0});
  }

  void of_a_client_that_says_much_a_part_is_read_at_a_time() {
    Client client(server_->path());
    serve();
    const std::string stop = to_json_line(Request::stop);
    const size_t most = (size_t{64} << 10) / stop.size() + 1, count = most + 200;
    std::string flood;
    for (size_t i = 0; i < count; ++i) flood += stop;
    client.send(flood);
    size_t asked = server_->serve().size();
    QVERIFY2(asked > 0 && asked <= most, std::to_string(asked).c_str());
    QTRY_COMPARE_WITH_TIMEOUT((asked += server_->serve().size(), asked), count, 60000);
    QCOMPARE(server_->clients(), size_t{1});
  }

  void no_more_clients_are_taken_than_there_is_room_for() {
    std::list<Client> clients;
    for (size_t i = 0; i < RunServer::most_clients + 5; ++i) {
      clients.emplace_back(server_->path());
      serve(1);
    }
    QCOMPARE(server_->clients(), RunServer::most_clients);
    QVERIFY(clients.back().is_closed());
    clients.pop_front();
    serve();
    Client next(server_->path());
    serve();
    QCOMPARE(next.receive(), std::string("hello\n"));
  }

  void without_descriptors_the_listener_rests_and_is_received_again_later() {
    const std::vector<pollfd> quiet = [this] {
      std::vector<pollfd> entries;
      server_->add_poll_entries(entries);
      return entries;
    }();
    QCOMPARE(quiet.size(), size_t{1});
    Client client(server_->path());
    rlimit limit{};
    QCOMPARE(::getrlimit(RLIMIT_NOFILE, &limit), 0);
    const rlimit none{3, limit.rlim_max};
    QCOMPARE(::setrlimit(RLIMIT_NOFILE, &none), 0);
    server_->serve();
    ::setrlimit(RLIMIT_NOFILE, &limit);
    QCOMPARE(server_->clients(), size_t{0});
    std::vector<pollfd> entries;
    server_->add_poll_entries(entries);
    QVERIFY(entries.empty());  // poll() would return at once, again and again
    QTRY_VERIFY_WITH_TIMEOUT((serve(1), server_->clients() == 1), 60000);
    QCOMPARE(client.receive(), std::string("hello\n"));
  }
};

REGISTER_CORE_TEST(RunServerTest)

}  // namespace run_server_test

#include "run_server_test.moc"
