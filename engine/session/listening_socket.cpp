#include "engine/session/listening_socket.h"

#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "engine/session/telemetry.h"

namespace shardscope {

namespace {

constexpr int64_t rest_ns = 1'000'000'000;

}  // namespace

ListeningSocket::ListeningSocket(ListeningSocket&& other) noexcept
    : socket_(std::exchange(other.socket_, -1)), accept_from_ns_(other.accept_from_ns_) {}

ListeningSocket& ListeningSocket::operator=(ListeningSocket&& other) noexcept {
  std::swap(socket_, other.socket_);
  std::swap(accept_from_ns_, other.accept_from_ns_);
  return *this;
}

void ListeningSocket::close() {
  if (socket_ >= 0) ::close(std::exchange(socket_, -1));
}

void ListeningSocket::add_poll_entry(std::vector<pollfd>& entries) const {
  if (socket_ >= 0 && monotonic_ns() >= accept_from_ns_) entries.push_back({socket_, POLLIN, 0});
}

int ListeningSocket::accept() {
  if (socket_ < 0 || monotonic_ns() < accept_from_ns_) return -1;
  const int connection = ::accept4(socket_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (connection >= 0) return connection;
  const bool is_passing = errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR || errno == ECONNABORTED;
  if (!is_passing) accept_from_ns_ = monotonic_ns() + rest_ns;
  return -1;
}

}  // namespace shardscope
