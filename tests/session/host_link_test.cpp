#include <sys/socket.h>
#include <unistd.h>
#include <QtTest>
#include <map>
#include <random>

#include "engine/base/error.h"
#include "engine/session/host_link.h"
#include "tests/test_program.h"

namespace host_link_test {

using namespace shardscope;

namespace {

struct Sockets {
  int launcher = -1, agent = -1;
  Sockets() {
    int ends[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends) == 0) {
      launcher = ends[0];
      agent = ends[1];
    }
  }
};

const std::map<uint32_t, std::string> secrets = {{0, "of host 0"}, {1, "of host 1"}};

HostLink launcher(int socket) {
  return HostLink::of_launcher(socket, [](uint32_t host) { return secrets.contains(host) ? secrets.at(host) : ""; });
}

// Lets both sides send and receive what they can; what one of them throws, as text.
std::string converse(HostLink& one, HostLink& other) {
  try {
    for (int i = 0; i < 6; ++i) {
      for (HostLink* link : {&one, &other}) {
        link->write();
        link->read();
      }
    }
  } catch (const Failure& failure) {
    return failure.what();
  }
  return {};
}

struct Pair {
  Sockets sockets;
  HostLink launcher = host_link_test::launcher(sockets.launcher);
  HostLink agent = HostLink::of_agent(sockets.agent, 1, secrets.at(1));
};

std::string take_error(HostLink& link) {
  try {
    link.read();
    while (link.take()) {
    }
  } catch (const Failure& failure) {
    return failure.errors().front().code;
  }
  return {};
}

// All bytes that `link` sends, instead of its peer.
std::string wire(HostLink& link, int peer) {
  link.write();
  std::string bytes(1 << 20, '\0');
  const ssize_t got = ::recv(peer, bytes.data(), bytes.size(), MSG_DONTWAIT);
  bytes.resize(got < 0 ? 0 : static_cast<size_t>(got));
  return bytes;
}

void put(int socket, const std::string& bytes) {
  if (::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL) < 0) qFatal("cannot send");
}

}  // namespace

class HostLinkTest : public QObject {
  Q_OBJECT

 private slots:
  void both_sides_prove_the_secret_and_the_launcher_learns_the_host() {
    Pair pair;
    QVERIFY(!pair.launcher.is_trusted() && !pair.agent.is_trusted());
    QCOMPARE(converse(pair.launcher, pair.agent), std::string());
    QVERIFY(pair.launcher.is_trusted() && pair.agent.is_trusted());
    QCOMPARE(pair.launcher.host(), 1u);
  }

  void an_agent_is_known_by_its_first_bytes_and_trusted_only_after_an_answer_of_its_own() {
    Pair pair;
    QVERIFY(!pair.launcher.is_known());
    const std::string knock = wire(pair.agent, pair.sockets.launcher);
    put(pair.sockets.agent, knock);
    pair.launcher.read();
    QVERIFY(pair.launcher.is_known() && !pair.launcher.is_trusted());
    QCOMPARE(pair.launcher.host(), 1u);
    put(pair.sockets.agent, knock + knock);
    QCOMPARE(take_error(pair.launcher), std::string("host_link"));
    QVERIFY(!pair.launcher.is_trusted());
  }

  void frames_arrive_whole_and_in_order_also_those_sent_before_trust() {
    Pair pair;
    std::mt19937 random(3);
    std::vector<std::string> sent;
    for (int i = 0; i < 50; ++i) {
      sent.push_back(std::string(random() % 3000, static_cast<char>(i)));
      pair.agent.send(HostFrameKind::report, sent.back());
      if (i % 10 == 0) QCOMPARE(converse(pair.launcher, pair.agent), std::string());
    }
    QCOMPARE(converse(pair.launcher, pair.agent), std::string());
    for (const std::string& payload : sent) {
      auto frame = pair.launcher.take();
      QVERIFY(frame && frame->kind == HostFrameKind::report && frame->payload == payload);
    }
    QVERIFY(!pair.launcher.take());
  }

  void what_came_before_the_end_of_a_connection_is_read() {
    Pair pair;
    QCOMPARE(converse(pair.launcher, pair.agent), std::string());
    pair.agent.send(HostFrameKind::ended, "last");
    pair.agent.write();
    { HostLink gone = std::move(pair.agent); }
    pair.launcher.read();
    auto frame = pair.launcher.take();
    QVERIFY(frame && frame->payload == "last");
    QVERIFY_EXCEPTION_THROWN(pair.launcher.take(), Failure);
  }

  void a_peer_without_the_secret_is_refused_data() {
    QTest::addColumn<uint>("host");
    QTest::addColumn<QString>("secret");
    QTest::newRow("another secret") << 1u << "guessed";
    QTest::newRow("another host's secret") << 1u << "of host 0";
    QTest::newRow("no such host") << 7u << "of host 1";
    QTest::newRow("none") << 1u << "";
  }

  void a_peer_without_the_secret_is_refused() {
    QFETCH(uint, host);
    QFETCH(QString, secret);
    Sockets sockets;
    HostLink one = launcher(sockets.launcher), other = HostLink::of_agent(sockets.agent, host, secret.toStdString());
    QVERIFY(converse(one, other).find("does not know the secret") != std::string::npos);
    QVERIFY(!one.is_trusted() && !other.is_trusted());
  }

  void an_agent_does_not_trust_a_launcher_that_only_echoes() {
    Sockets sockets;
    HostLink agent = HostLink::of_agent(sockets.agent, 1, secrets.at(1));
    QCOMPARE(wire(agent, sockets.launcher).size(), size_t{44});
    put(sockets.launcher, "SHRDHST2" + std::string(32, 'n'));
    agent.read();
    const std::string answer = wire(agent, sockets.launcher);
    QCOMPARE(answer.size(), size_t{64});
    put(sockets.launcher, answer.substr(32));
    QCOMPARE(take_error(agent), std::string("host_link"));
    QVERIFY(!agent.is_trusted());
  }

  void a_conversation_cannot_be_played_again() {
    Pair pair;
    QCOMPARE(converse(pair.launcher, pair.agent), std::string());
    pair.agent.send(HostFrameKind::ready);
    const std::string frame = wire(pair.agent, pair.sockets.launcher);
    put(pair.sockets.agent, frame);
    pair.launcher.read();
    QVERIFY(pair.launcher.take());
    put(pair.sockets.agent, frame);
    QCOMPARE(take_error(pair.launcher), std::string("host_link"));
  }

  void a_changed_frame_is_refused_whatever_byte_it_is() {
    for (size_t at = 0; at < 37 + 4; ++at) {
      Pair pair;
      QCOMPARE(converse(pair.launcher, pair.agent), std::string());
      pair.agent.send(HostFrameKind::report, "word");
      std::string frame = wire(pair.agent, pair.sockets.launcher);
      QCOMPARE(frame.size(), size_t{41});
      frame[at] = static_cast<char>(frame[at] ^ 1);
      put(pair.sockets.agent, frame + std::string(1, 'x'));
      pair.launcher.read();
      bool taken = false;
      try {
        taken = pair.launcher.take().has_value();
      } catch (const Failure&) {
      }
      QVERIFY2(!taken, std::to_string(at).c_str());
    }
  }

  void bytes_of_unauthenticated_peers_are_refused_without_being_kept() {
    std::mt19937 random(5);
    for (int trial = 0; trial < 200; ++trial) {
      Sockets sockets;
      HostLink link = launcher(sockets.launcher);
      std::string bytes(random() % 100000, '\0');
      for (char& byte : bytes) byte = static_cast<char>(random());
      put(sockets.agent, bytes);
      const std::string error = take_error(link);
      QVERIFY(bytes.size() < 44 ? error.empty() : error == "host_link");
      QVERIFY(!link.is_trusted());
      ::close(sockets.agent);
    }
  }

  void more_than_a_peer_reads_is_refused() {
    Pair pair;
    QCOMPARE(converse(pair.launcher, pair.agent), std::string());
    QVERIFY_EXCEPTION_THROWN(pair.agent.send(HostFrameKind::report, std::string(HostLink::longest_frame + 1, 'x')),
                             Failure);
    const std::string long_one(HostLink::longest_frame / 2, 'x');
    QVERIFY_EXCEPTION_THROWN(for (int i = 0; i < 8; ++i) pair.agent.send(HostFrameKind::report, long_one), Failure);
  }

  void secrets_are_64_digits_and_never_the_same() {
    QCOMPARE(new_host_secret().size(), size_t{64});
    QVERIFY(new_host_secret() != new_host_secret());
  }
};

REGISTER_TEST(HostLinkTest)

}  // namespace host_link_test

#include "host_link_test.moc"
