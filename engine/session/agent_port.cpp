#include "engine/session/agent_port.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "engine/base/error.h"

namespace shardscope {

namespace {

constexpr int most_accepted = 256;  // in one call
constexpr int silence_seconds = 3;  // for which the kernel keeps connections that send nothing to itself

}  // namespace

AgentPort::AgentPort(std::function<std::string(uint32_t host)> secret_of) : secret_of_(std::move(secret_of)) {}

std::string AgentPort::listen_at(const std::string& address) {
  const auto known = std::ranges::find(addresses_, address);
  if (known != addresses_.end()) return places_[static_cast<size_t>(known - addresses_.begin())];
  sockaddr_in own{};
  own.sin_family = AF_INET;
  ::inet_pton(AF_INET, address.c_str(), &own.sin_addr);
  socklen_t length = sizeof own;
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  ListeningSocket listening(socket);
  ::setsockopt(socket, IPPROTO_TCP, TCP_DEFER_ACCEPT, &silence_seconds, sizeof silence_seconds);
  if (socket < 0 || ::bind(socket, reinterpret_cast<const sockaddr*>(&own), sizeof own) != 0 ||
      ::listen(socket, SOMAXCONN) != 0 || ::getsockname(socket, reinterpret_cast<sockaddr*>(&own), &length) != 0) {
    throw Failure(Error{"host_socket", std::string("cannot listen: ") + std::strerror(errno), address, ""});
  }
  addresses_.push_back(address);
  listeners_.push_back(std::move(listening));
  return places_.emplace_back(fmt::format("{}:{}", address, ntohs(own.sin_port)));
}

void AgentPort::add_poll_entries(std::vector<pollfd>& entries) const {
  for (const ListeningSocket& listener : listeners_) listener.add_poll_entry(entries);
  for (const Peer& peer : peers_) entries.push_back({peer.link.socket(), peer.link.poll_events(), 0});
}

std::vector<HostLink> AgentPort::serve(int64_t now_ns) {
  accept_new(now_ns);
  std::vector<HostLink> proved;
  for (auto peer = peers_.begin(); peer != peers_.end();) {
    bool is_over = now_ns - peer->since_ns > unauthenticated_ns;
    try {
      peer->link.write();
      peer->link.read();
      if (peer->link.is_trusted()) proved.push_back(std::move(peer->link));
    } catch (const Failure&) {
      is_over = true;
    }
    const bool is_proved = peer->link.socket() < 0;
    if (is_over && !is_proved) ++dropped_;
    peer = is_over || is_proved ? peers_.erase(peer) : std::next(peer);
  }
  return proved;
}

void AgentPort::accept_new(int64_t now_ns) {
  for (ListeningSocket& listener : listeners_) {
    for (int i = 0; i < most_accepted; ++i) {
      const int socket = listener.accept();
      if (socket < 0) break;
      admit(socket, now_ns);
    }
  }
}

void AgentPort::admit(int socket, int64_t now_ns) {
  const int on = 1;
  ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  HostLink link = HostLink::of_launcher(socket, secret_of_);
  try {
    link.read();
  } catch (const Failure&) {
    ++dropped_;
    return;
  }
  const auto unknown = std::ranges::count_if(peers_, [](const Peer& peer) { return !peer.link.is_known(); });
  const bool is_admitted =
      link.is_known() ? known_of(link.host()) < most_known : unknown < static_cast<ptrdiff_t>(most_unauthenticated);
  if (is_admitted) peers_.push_back({std::move(link), now_ns});
  else ++refused_;
}

size_t AgentPort::known_of(uint32_t host) const {
  return static_cast<size_t>(std::ranges::count_if(
      peers_, [&](const Peer& peer) { return peer.link.is_known() && peer.link.host() == host; }));
}

void AgentPort::close() {
  for (ListeningSocket& listener : listeners_) listener.close();
  peers_.clear();
}

std::string AgentPort::note() const {
  const auto open = std::ranges::count_if(peers_, [](const Peer& peer) { return !peer.link.is_known(); });
  const int64_t all = dropped_ + refused_ + open;
  if (all == 0) return "";
  return fmt::format("; {} unauthenticated connections came to {}, of which {} were refused", all,
                     fmt::join(places_, " and "), refused_);
}

}  // namespace shardscope
