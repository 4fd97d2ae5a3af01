#include <arpa/inet.h>
#include <dlfcn.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
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
//   connect  sends the token of the run, SHARDSCOPE_MPI_TOKEN, first
//   accept   returns only connections that begin with it; others are closed, EAGAIN
//
// Local (Unix domain) sockets are left alone. Without a token all is left alone.

namespace {

constexpr int silence_seconds = 30;  // of a connection that the kernel holds back
constexpr int connect_ms = 20'000;
constexpr int token_ms = 2;  // what the kernel gives without a byte has been silent, but for a crowd of others
constexpr size_t longest_token = 128;

template <class Function>
Function* original(const char* name) {
  return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}

std::string_view token() {
  const char* text = std::getenv("SHARDSCOPE_MPI_TOKEN");
  return std::string_view(text ? text : "").substr(0, longest_token);
}

int option_of(int socket, int name) {
  int value = 0;
  socklen_t length = sizeof value;
  return ::getsockopt(socket, SOL_SOCKET, name, &value, &length) == 0 ? value : -1;
}

bool is_guarded(int socket) {
  return !token().empty() && option_of(socket, SO_DOMAIN) == AF_INET && option_of(socket, SO_TYPE) == SOCK_STREAM;
}

bool is_ready(int socket, short event, int wait_ms) {
  pollfd entry{socket, event, 0};
  int ready = 0;
  do ready = ::poll(&entry, 1, wait_ms);
  while (ready < 0 && errno == EINTR);
  return ready > 0;
}

// It was sent in one piece, before which the kernel gives no connection.
bool begins_with_token(int socket) {
  std::array<char, longest_token> received;
  std::string_view rest = token();
  while (!rest.empty()) {
    if (!is_ready(socket, POLLIN, token_ms)) return false;
    const ssize_t got = ::recv(socket, received.data(), rest.size(), MSG_DONTWAIT);
    if (got <= 0 || rest.substr(0, static_cast<size_t>(got)) != std::string_view(received.data(), got)) return false;
    rest.remove_prefix(static_cast<size_t>(got));
  }
  return true;
}

int accept_guarded(int listener, sockaddr* address, socklen_t* length, int flags) {
  const socklen_t room = length ? *length : 0;
  const int socket = original<decltype(::accept4)>("accept4")(listener, address, length, flags);
  if (socket < 0 || !is_guarded(listener) || begins_with_token(socket)) return socket;
  ::close(socket);
  if (length) *length = room;
  errno = EAGAIN;
  return -1;
}

}  // namespace

extern "C" {

int socket(int domain, int type, int protocol) noexcept {
  if (domain == AF_INET6 && !token().empty()) {
    errno = EAFNOSUPPORT;
    return -1;
  }
  return original<decltype(::socket)>("socket")(domain, type, protocol);
}

int bind(int socket, const sockaddr* address, socklen_t length) noexcept {
  auto* function = original<decltype(::bind)>("bind");
  const char* wanted = std::getenv("SHARDSCOPE_MPI_ADDRESS");
  sockaddr_in own{};
  const bool is_confined = wanted && ::inet_pton(AF_INET, wanted, &own.sin_addr) == 1;
  if (!is_confined || length < sizeof own || address->sa_family != AF_INET || !is_guarded(socket)) {
    return function(socket, address, length);
  }
  sockaddr_in asked{};
  std::memcpy(&asked, address, sizeof asked);
  if (asked.sin_addr.s_addr == htonl(INADDR_ANY)) asked.sin_addr = own.sin_addr;
  return function(socket, reinterpret_cast<const sockaddr*>(&asked), sizeof asked);
}

int listen(int socket, int backlog) noexcept {
  if (is_guarded(socket)) {
    ::setsockopt(socket, IPPROTO_TCP, TCP_DEFER_ACCEPT, &silence_seconds, sizeof silence_seconds);
  }
  return original<decltype(::listen)>("listen")(socket, backlog);
}

int connect(int socket, const sockaddr* address, socklen_t length) {
  const int result = original<decltype(::connect)>("connect")(socket, address, length);
  if ((result != 0 && errno != EINPROGRESS) || !is_guarded(socket)) return result;
  if (result != 0 && !is_ready(socket, POLLOUT, connect_ms)) {
    errno = ETIMEDOUT;
    return -1;
  }
  if (const int error = option_of(socket, SO_ERROR); error != 0) {
    errno = error;
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
