#include <arpa/inet.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <QTest>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <thread>

#include "tests/test_program.h"

namespace mpi_guard_test {

namespace {

constexpr const char* token = "a token of this run";
constexpr std::array variables = {"SHARDSCOPE_MPI_TOKEN", "SHARDSCOPE_MPI_ADDRESS", "SHARDSCOPE_MPI_NETWORKS"};

// The library that Open MPI's processes load first, with its variables as they are when it is loaded.
class Library {
 public:
  explicit Library(const std::string& networks = "127.0.0.0/8", const std::string& address = "127.0.0.1") {
    ::setenv(variables[0], token, 1);
    ::setenv(variables[1], address.c_str(), 1);
    ::setenv(variables[2], networks.c_str(), 1);
    const auto folder = std::filesystem::read_symlink("/proc/self/exe").parent_path();
    handle_ = ::dlopen((folder / "libshardscope_mpi_guard.so").c_str(), RTLD_NOW | RTLD_LOCAL);
    for (const char* name : variables) ::unsetenv(name);
    find(socket, "socket");
    find(bind, "bind");
    find(listen, "listen");
    find(connect, "connect");
    find(accept, "accept");
  }
  ~Library() {
    if (handle_) ::dlclose(handle_);
  }
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;

  decltype(&::socket) socket = nullptr;
  decltype(&::bind) bind = nullptr;
  decltype(&::listen) listen = nullptr;
  decltype(&::connect) connect = nullptr;
  decltype(&::accept) accept = nullptr;

 private:
  template <class Function>
  void find(Function*& function, const char* name) const {
    function = reinterpret_cast<Function*>(::dlsym(handle_, name));
  }
  void* handle_ = nullptr;
};

struct Socket {
  explicit Socket(int number) : number(number) {}
  ~Socket() {
    if (number >= 0) ::close(number);
  }
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;
  int number;
};

Socket tcp(int flags = 0) { return Socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | flags, 0)); }

sockaddr_in any_port(uint32_t address) {
  sockaddr_in place{};
  place.sin_family = AF_INET;
  place.sin_addr.s_addr = htonl(address);
  return place;
}

sockaddr* raw(sockaddr_in& place) { return reinterpret_cast<sockaddr*>(&place); }

sockaddr_in place_of(const Socket& socket) {
  sockaddr_in place{};
  socklen_t length = sizeof place;
  ::getsockname(socket.number, raw(place), &length);
  return place;
}

// A listener that gives connections at once, whether they have said something or not.
void listen_plainly(const Socket& socket) {
  sockaddr_in place = any_port(INADDR_LOOPBACK);
  QCOMPARE(::bind(socket.number, raw(place), sizeof place), 0);
  QCOMPARE(::listen(socket.number, 8), 0);
}

int waiting_connections(const Socket& listener) {
  tcp_info info{};
  socklen_t length = sizeof info;
  return ::getsockopt(listener.number, IPPROTO_TCP, TCP_INFO, &info, &length) == 0 ? static_cast<int>(info.tcpi_unacked)
                                                                                   : -1;
}

std::string received(int socket) {
  std::array<char, 256> bytes;
  const ssize_t got = ::recv(socket, bytes.data(), bytes.size(), MSG_DONTWAIT);
  return got > 0 ? std::string(bytes.data(), static_cast<size_t>(got)) : "";
}

}  // namespace

class MpiGuardTest : public QObject {
  Q_OBJECT

 private slots:
  void a_connection_that_begins_with_the_token_is_accepted_and_another_is_closed() {
    const Library guard;
    const Socket listener = tcp();
    listen_plainly(listener);
    sockaddr_in there = place_of(listener);
    const Socket peer = tcp();
    QCOMPARE(::connect(peer.number, raw(there), sizeof there), 0);
    QCOMPARE(::send(peer.number, "x", 1, MSG_NOSIGNAL), ssize_t{1});
    QCOMPARE(guard.accept(listener.number, nullptr, nullptr), -1);
    QCOMPARE(errno, EAGAIN);
    for (int flags : {0, int{SOCK_NONBLOCK}}) {
      const Socket peer = tcp(flags);
      QCOMPARE(guard.connect(peer.number, raw(there), sizeof there), 0);
      QCOMPARE(::send(peer.number, "words", 5, MSG_NOSIGNAL), ssize_t{5});
      const Socket accepted(guard.accept(listener.number, nullptr, nullptr));
      QVERIFY(accepted.number >= 0);
      pollfd entry{accepted.number, POLLIN, 0};
      QCOMPARE(::poll(&entry, 1, 60000), 1);
      QCOMPARE(received(accepted.number), std::string("words"));
    }
  }

  // As where the queue of a port is full: the token comes after the connection has been taken from it.
  void a_peer_whose_token_comes_a_moment_later_is_accepted() {
    const Library guard;
    const Socket listener = tcp();
    listen_plainly(listener);
    sockaddr_in there = place_of(listener);
    const Socket peer = tcp();
    QCOMPARE(::connect(peer.number, raw(there), sizeof there), 0);
    std::jthread speaks([&] {
      while (waiting_connections(listener) > 0) std::this_thread::yield();
      ::send(peer.number, token, std::string_view(token).size(), MSG_NOSIGNAL);
    });
    const Socket accepted(guard.accept(listener.number, nullptr, nullptr));
    QVERIFY(accepted.number >= 0);
  }

  void it_listens_at_its_own_address_instead_of_all() {
    const Library guard;
    const Socket listener = tcp();
    sockaddr_in everywhere = any_port(INADDR_ANY);
    QCOMPARE(guard.bind(listener.number, raw(everywhere), sizeof everywhere), 0);
    QCOMPARE(ntohl(place_of(listener).sin_addr.s_addr), uint32_t{INADDR_LOOPBACK});
  }

  void only_those_of_its_networks_are_sent_the_token_data() {
    QTest::addColumn<QString>("networks");
    QTest::addColumn<bool>("is_sent");
    QTest::newRow("within") << "10.9.0.0/16,127.0.0.0/24" << true;
    QTest::newRow("without") << "10.9.0.0/16,127.9.0.0/16" << false;
    QTest::newRow("on this machine") << "10.9.0.0/16" << true;
    QTest::newRow("not known") << "" << true;
    QTest::newRow("an address") << "127.0.0.9/32" << true;
  }

  void only_those_of_its_networks_are_sent_the_token() {
    QFETCH(QString, networks);
    QFETCH(bool, is_sent);
    const Library guard(networks.toStdString());
    const Socket listener = tcp();
    listen_plainly(listener);
    sockaddr_in there = place_of(listener);
    const Socket peer = tcp();
    QCOMPARE(guard.connect(peer.number, raw(there), sizeof there), 0);
    QCOMPARE(::send(peer.number, "!", 1, MSG_NOSIGNAL), ssize_t{1});
    const Socket accepted(::accept(listener.number, nullptr, nullptr));
    std::string all;
    while (!all.ends_with('!')) {
      pollfd entry{accepted.number, POLLIN, 0};
      QCOMPARE(::poll(&entry, 1, 60000), 1);
      all += received(accepted.number);
    }
    QCOMPARE(all, (is_sent ? std::string(token) : "") + "!");
  }

  void a_refused_connection_keeps_its_reason() {
    const Library guard;
    const Socket bound = tcp();
    sockaddr_in there = any_port(INADDR_LOOPBACK);
    QCOMPARE(::bind(bound.number, raw(there), sizeof there), 0);
    there = place_of(bound);
    for (int flags : {0, int{SOCK_NONBLOCK}}) {
      const Socket peer = tcp(flags);
      QCOMPARE(guard.connect(peer.number, raw(there), sizeof there), -1);
      QCOMPARE(errno, ECONNREFUSED);
    }
    QCOMPARE(guard.connect(-1, raw(there), sizeof there), -1);
    QCOMPARE(errno, EBADF);
  }

  void of_ipv6_only_streams_are_refused() {
    const Library guard;
    QCOMPARE(guard.socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), -1);
    QCOMPARE(errno, EAFNOSUPPORT);
    const Socket plain(::socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    const Socket own(guard.socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    QCOMPARE(own.number >= 0, plain.number >= 0);
  }
};

REGISTER_TEST(MpiGuardTest)

}  // namespace mpi_guard_test

#include "mpi_guard_test.moc"
