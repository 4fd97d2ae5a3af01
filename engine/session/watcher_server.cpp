#include "engine/session/watcher_server.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "engine/base/error.h"

namespace shardscope {

namespace {

[[noreturn]] void refuse(const std::string& path, const std::string& what, const std::string& hint = "") {
  throw Failure(Error{"session_socket", what, in_file(path), hint});
}

sockaddr_un address_of(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) {
    refuse(path, "the socket's path is longer than " + std::to_string(sizeof address.sun_path - 1) + " bytes",
           "set TMPDIR or --socket to a shorter path");
  }
  std::memcpy(address.sun_path, path.data(), path.size());
  return address;
}

int new_socket(const std::string& path) {
  int result = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (result < 0) refuse(path, std::string("cannot make a socket: ") + std::strerror(errno));
  return result;
}

// The file of a socket whose owner has died would make bind fail for ever.
void remove_dead_socket(const std::string& path, const sockaddr_un& address) {
  struct stat status {};
  if (::lstat(path.c_str(), &status) != 0) return;
  if (!S_ISSOCK(status.st_mode)) refuse(path, "exists and is not a socket", "choose another path");
  int probe = new_socket(path);
  bool dead =
      ::connect(probe, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 && errno == ECONNREFUSED;
  ::close(probe);
  if (!dead) refuse(path, "is in use by another run", "choose another path");
  ::unlink(path.c_str());
}

}  // namespace

WatcherServer::WatcherServer(std::string path, std::function<std::string()> greeting, size_t most_unsent)
    : path_(std::move(path)), greeting_(std::move(greeting)), most_unsent_(most_unsent) {
  sockaddr_un address = address_of(path_);
  remove_dead_socket(path_, address);
  listener_ = new_socket(path_);
  ::fchmod(listener_, 0600);
  if (::bind(listener_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      ::listen(listener_, 16) != 0) {
    std::string reason = std::strerror(errno);
    ::close(listener_);
    refuse(path_, "cannot listen: " + reason);
  }
}

WatcherServer::~WatcherServer() {
  for (Watcher& watcher : watchers_) ::close(watcher.socket);
  ::close(listener_);
  ::unlink(path_.c_str());
}

bool WatcherServer::has_unsent() const {
  return std::any_of(watchers_.begin(), watchers_.end(),
                     [](const Watcher& watcher) { return !watcher.unsent.empty(); });
}

void WatcherServer::add_poll_entries(std::vector<pollfd>& entries) const {
  entries.push_back({listener_, POLLIN, 0});
  for (const Watcher& watcher : watchers_) {
    entries.push_back({watcher.socket, static_cast<short>(watcher.unsent.empty() ? POLLIN : POLLIN | POLLOUT), 0});
  }
}

std::vector<Request> WatcherServer::serve() {
  std::vector<Request> requests;
  accept_new();
  for (Watcher& watcher : watchers_) {
    read_from(watcher, requests);
    write_to(watcher);
  }
  drop_lost();
  return requests;
}

void WatcherServer::send(std::string_view line) {
  for (Watcher& watcher : watchers_) {
    watcher.unsent += line;
    write_to(watcher);
    if (watcher.unsent.size() > most_unsent_) watcher.lost = true;
  }
  drop_lost();
}

void WatcherServer::accept_new() {
  for (int socket; (socket = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK)) >= 0;) {
    watchers_.emplace_back();
    watchers_.back().socket = socket;
    watchers_.back().unsent = greeting_();
  }
}

void WatcherServer::read_from(Watcher& watcher, std::vector<Request>& requests) {
  std::array<char, 4096> bytes;
  while (!watcher.lost) {
    ssize_t got = ::recv(watcher.socket, bytes.data(), bytes.size(), 0);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return;
    watcher.lost = got <= 0;
    if (watcher.lost) return;
    try {
      watcher.received.feed({bytes.data(), static_cast<size_t>(got)});
      while (auto line = watcher.received.next_line()) requests.push_back(parse_request(*line));
    } catch (const Failure&) {
      watcher.lost = true;
    }
  }
}

void WatcherServer::write_to(Watcher& watcher) {
  size_t sent = 0;
  while (!watcher.lost && sent < watcher.unsent.size()) {
    ssize_t put = ::send(watcher.socket, watcher.unsent.data() + sent, watcher.unsent.size() - sent, MSG_NOSIGNAL);
    if (put < 0 && errno == EINTR) continue;
    if (put < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) break;
    if (put < 0) watcher.lost = true;
    else sent += static_cast<size_t>(put);
  }
  watcher.unsent.erase(0, sent);
}

void WatcherServer::drop_lost() {
  watchers_.remove_if([](const Watcher& watcher) {
    if (watcher.lost) ::close(watcher.socket);
    return watcher.lost;
  });
}

}  // namespace shardscope
