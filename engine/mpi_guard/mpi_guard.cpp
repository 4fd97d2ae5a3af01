#include <arpa/inet.h>
#include <dlfcn.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string_view>

// Loaded before Open MPI into mpirun, its daemons and the ranks (LD_PRELOAD; session/mpi_guard.h). Whatever Open MPI is
// configured to use, it listens on all interfaces, and its readers wait without a deadline for whoever connects: one
// silent connection holds up a whole run. Here, for TCP,
//
//   socket   refuses IPv6
//   bind     uses SHARDSCOPE_MPI_ADDRESS instead of all interfaces, where it is set
//   listen   has the kernel hold back connections that send nothing
//   connect  sends the token of the run, SHARDSCOPE_MPI_TOKEN, first; where SHARDSCOPE_MPI_NETWORKS is set, in these
//            and on the loopback alone
//   accept   returns only connections that begin with it; others are closed, EAGAIN
//
// Local (Unix domain) sockets are left alone. Without a token all is left alone. The variables are read once, before
// the program begins: Open MPI's threads call these functions while others may change the environment.

namespace {

constexpr int silence_seconds = 30;  // of a connection that the kernel holds back
constexpr int connect_ms = 5000;
// The kernel gives a connection without a byte after its silence, or out of a full queue. The latter may be a peer's.
constexpr int token_ms = 50, least_token_ms = 2;
constexpr int waited_ms_of_a_second = 250;  // by all calls of accept: beyond, each waits the least
constexpr size_t longest_token = 128, most_networks = 16;

struct Network {
  uint32_t address, mask;
};

struct Guard {
  decltype(&::socket) socket;
  decltype(&::bind) bind;
  decltype(&::listen) listen;
  decltype(&::connect) connect;
  decltype(&::accept4) accept4;
  std::array<char, longest_token> token;
  size_t token_length;
  in_addr address;
  bool has_address;
  std::array<Network, most_networks + 1> networks;
  size_t network_count;
  bool is_read;
};

Guard guard;  // all zero until read_environment() is called

template <class Function>
void find(Function*& function, const char* name) {
  function = reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}

std::string_view variable(const char* name) {
  const char* text = std::getenv(name);
  return text ? text : "";
}

constexpr uint32_t loopback = 127u << 24, loopback_mask = 255u << 24;

bool is_loopback(in_addr_t address) { return (ntohl(address) & loopback_mask) == loopback; }

// "10.99.0.0/24,127.0.0.0/8". One that is a single address does not say where the others are. Over the loopback a
// process talks to the daemon of its own host, also where none is given.
void read_networks(std::string_view list) {
  while (!list.empty()) {
    const std::string_view one = list.substr(0, list.find(','));
    list.remove_prefix(std::min(list.size(), one.size() + 1));
    std::array<char, INET_ADDRSTRLEN> text{};
    const size_t slash = one.find('/');
    if (slash == std::string_view::npos || slash >= text.size()) continue;
    one.copy(text.data(), slash);
    int bits = 0;
    for (const char digit : one.substr(slash + 1)) bits = std::min(bits * 10 + (digit - '0'), 32);
    in_addr address{};
    if (::inet_pton(AF_INET, text.data(), &address) != 1) continue;
    if (bits <= 0 || bits >= 32 || guard.network_count == most_networks) {
      guard.network_count = 0;
      return;
    }
    const uint32_t mask = htonl(~uint32_t{0} << (32 - bits));
    guard.networks[guard.network_count++] = {address.s_addr & mask, mask};
  }
  const auto end = guard.networks.begin() + guard.network_count;
  const bool is_reported =
      std::any_of(guard.networks.begin(), end, [](const Network& one) { return is_loopback(one.address); });
  if (guard.network_count > 0 && !is_reported) {
    guard.networks[guard.network_count++] = {htonl(loopback), htonl(loopback_mask)};
  }
}

__attribute__((constructor)) void read_environment() {
  if (guard.is_read) return;
  find(guard.socket, "socket");
  find(guard.bind, "bind");
  find(guard.listen, "listen");
  find(guard.connect, "connect");
  find(guard.accept4, "accept4");
  guard.token_length = variable("SHARDSCOPE_MPI_TOKEN").copy(guard.token.data(), longest_token);
  guard.has_address = ::inet_pton(AF_INET, variable("SHARDSCOPE_MPI_ADDRESS").data(), &guard.address) == 1;
  read_networks(variable("SHARDSCOPE_MPI_NETWORKS"));
  guard.is_read = true;
}

// Constructors of other libraries may come before this one's; there are no threads then.
const Guard& the_guard() {
  if (!guard.is_read) read_environment();
  return guard;
}

std::string_view token() { return {the_guard().token.data(), the_guard().token_length}; }

int option_of(int socket, int name) {
  int value = 0;
  socklen_t length = sizeof value;
  return ::getsockopt(socket, SOL_SOCKET, name, &value, &length) == 0 ? value : -1;
}

bool is_guarded(int socket) {
  return !token().empty() && option_of(socket, SO_DOMAIN) == AF_INET && option_of(socket, SO_TYPE) == SOCK_STREAM;
}

bool is_in_networks(const sockaddr* address, socklen_t length) {
  const Guard& own = the_guard();
  sockaddr_in there{};
  if (length < sizeof there || address->sa_family != AF_INET) return false;
  std::memcpy(&there, address, sizeof there);
  if (own.network_count == 0) return true;
  return std::any_of(own.networks.begin(), own.networks.begin() + own.network_count,
                     [&](const Network& one) { return (there.sin_addr.s_addr & one.mask) == one.address; });
}

int64_t now_ms() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return int64_t{now.tv_sec} * 1000 + now.tv_nsec / 1'000'000;
}

bool is_ready(int socket, short event, int64_t wait_ms) {
  const int64_t deadline = now_ms() + wait_ms;
  pollfd entry{socket, event, 0};
  for (;;) {
    const int64_t left = std::max<int64_t>(0, deadline - now_ms());
    const int ready = ::poll(&entry, 1, static_cast<int>(left));
    if (ready >= 0 || errno != EINTR) return ready > 0;
  }
}

// What all calls have waited for silent connections within the current second: a crowd of them costs a part of the
// time.
class Patience {
 public:
  int64_t left_ms() {
    const int64_t second = now_ms() / 1000;
    if (second_.exchange(second) != second) waited_ms_ = 0;
    return std::clamp<int64_t>(waited_ms_of_a_second - waited_ms_, least_token_ms, token_ms);
  }
  void waited(int64_t milliseconds) { waited_ms_ += milliseconds; }

 private:
  std::atomic<int64_t> second_ = 0, waited_ms_ = 0;
};

Patience patience;

bool reads_token(int socket, int64_t deadline_ms) {
  std::array<char, longest_token> received;
  std::string_view rest = token();
  while (!rest.empty()) {
    if (!is_ready(socket, POLLIN, std::max<int64_t>(0, deadline_ms - now_ms()))) return false;
    const ssize_t got = ::recv(socket, received.data(), rest.size(), MSG_DONTWAIT);
    if (got <= 0 || rest.substr(0, static_cast<size_t>(got)) != std::string_view(received.data(), got)) return false;
    rest.remove_prefix(static_cast<size_t>(got));
  }
  return true;
}

bool begins_with_token(int socket) {
  const int64_t start = now_ms();
  const bool begins = reads_token(socket, start + patience.left_ms());
  patience.waited(now_ms() - start);
  return begins;
}

int accept_guarded(int listener, sockaddr* address, socklen_t* length, int flags) {
  const socklen_t room = length ? *length : 0;
  const int socket = the_guard().accept4(listener, address, length, flags);
  if (socket < 0 || !is_guarded(listener) || begins_with_token(socket)) return socket;
  ::close(socket);
  if (length) *length = room;
  errno = EAGAIN;
  return -1;
}

}  // namespace

extern "C" {

int socket(int domain, int type, int protocol) noexcept {
  constexpr int flags = SOCK_NONBLOCK | SOCK_CLOEXEC;
  if (domain == AF_INET6 && (type & ~flags) == SOCK_STREAM && !token().empty()) {
    errno = EAFNOSUPPORT;
    return -1;
  }
  return the_guard().socket(domain, type, protocol);
}

int bind(int socket, const sockaddr* address, socklen_t length) noexcept {
  const Guard& own = the_guard();
  sockaddr_in asked{};
  if (!own.has_address || length < sizeof asked || address->sa_family != AF_INET || !is_guarded(socket)) {
    return own.bind(socket, address, length);
  }
  std::memcpy(&asked, address, sizeof asked);
  if (asked.sin_addr.s_addr == htonl(INADDR_ANY)) asked.sin_addr = own.address;
  return own.bind(socket, reinterpret_cast<const sockaddr*>(&asked), sizeof asked);
}

int listen(int socket, int backlog) noexcept {
  if (is_guarded(socket)) {
    ::setsockopt(socket, IPPROTO_TCP, TCP_DEFER_ACCEPT, &silence_seconds, sizeof silence_seconds);
  }
  return the_guard().listen(socket, backlog);
}

// A socket that does not block is waited for all the same: the token has to be the first that it sends.
int connect(int socket, const sockaddr* address, socklen_t length) {
  const int result = the_guard().connect(socket, address, length);
  const int reason = result == 0 ? 0 : errno;
  const bool is_under_way = reason == EINPROGRESS || reason == EINTR;
  if ((result != 0 && !is_under_way) || !is_guarded(socket) || !is_in_networks(address, length)) {
    if (result != 0) errno = reason;
    return result;
  }
  if (is_under_way && !is_ready(socket, POLLOUT, connect_ms)) {
    errno = ETIMEDOUT;
    return -1;
  }
  if (const int error = option_of(socket, SO_ERROR); error != 0) {
    if (error > 0) errno = error;
    return -1;
  }
  [[maybe_unused]] const ssize_t sent = ::send(socket, token().data(), token().size(), MSG_NOSIGNAL);
  return 0;
}

int accept4(int listener, sockaddr* address, socklen_t* length, int flags) {
  return accept_guarded(listener, address, length, flags);
}

int accept(int listener, sockaddr* address, socklen_t* length) { return accept_guarded(listener, address, length, 0); }

}  // extern "C"
