#include "engine/session/watcher_server.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string_view>

#include "engine/base/error.h"
#include "engine/session/telemetry.h"

namespace shardscope {

namespace {

constexpr size_t most_questions = 64;  // of a watcher, unanswered
constexpr int watcher_reads = 16;      // of a watcher, in one call

[[noreturn]] void refuse_socket(const std::string& path, const std::string& what, const std::string& hint = "") {
  throw Failure(Error{"session_socket", what, in_file(path), hint});
}

sockaddr_un watcher_address(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) {
    refuse_socket(path, "the socket's path is longer than " + std::to_string(sizeof address.sun_path - 1) + " bytes",
                  "set TMPDIR or --socket to a shorter path");
  }
  std::memcpy(address.sun_path, path.data(), path.size());
  return address;
}

int new_socket(const std::string& path) {
  int result = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (result < 0) refuse_socket(path, std::string("cannot make a socket: ") + std::strerror(errno));
  return result;
}

// The file of a socket whose owner has died would make bind fail for ever.
void remove_dead_socket(const std::string& path, const sockaddr_un& address) {
  struct stat status {};
  if (::lstat(path.c_str(), &status) != 0) return;
  if (!S_ISSOCK(status.st_mode)) refuse_socket(path, "exists and is not a socket", "choose another path");
  int probe = new_socket(path);
  bool dead =
      ::connect(probe, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 && errno == ECONNREFUSED;
  ::close(probe);
  if (!dead) refuse_socket(path, "is in use by another run", "choose another path");
  struct stat now {};
  const bool is_same = ::lstat(path.c_str(), &now) == 0 && now.st_dev == status.st_dev && now.st_ino == status.st_ino;
  if (is_same) ::unlink(path.c_str());
}

}  // namespace

WatcherServer::WatcherServer(std::string path, std::function<std::string()> greeting, size_t most_unsent)
    : path_(std::move(path)), greeting_(std::move(greeting)), most_unsent_(most_unsent) {
  sockaddr_un address = watcher_address(path_);
  remove_dead_socket(path_, address);
  const int socket = new_socket(path_);
  listener_ = ListeningSocket(socket);
  ::fchmod(socket, 0600);
  if (::bind(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 || ::listen(socket, 16) != 0) {
    refuse_socket(path_, std::string("cannot listen: ") + std::strerror(errno));
  }
  file_ = SocketFile(path_);
}

WatcherServer::~WatcherServer() {
  for (Watcher& watcher : watchers_) ::close(watcher.socket);
  file_.remove();
  listener_.close();
}

bool WatcherServer::has_unsent() const {
  return std::ranges::any_of(watchers_, [](const Watcher& watcher) { return !watcher.unsent.empty(); });
}

void WatcherServer::add_poll_entries(std::vector<pollfd>& entries) const {
  listener_.add_poll_entry(entries);
  for (const Watcher& watcher : watchers_) {
    entries.push_back({watcher.socket, static_cast<short>(watcher.unsent.empty() ? POLLIN : POLLIN | POLLOUT), 0});
  }
}

std::vector<WatcherServer::Asked> WatcherServer::serve() {
  std::vector<Asked> asked;
  accept_new();
  for (Watcher& watcher : watchers_) {
    read_from(watcher, asked);
    write_to(watcher);
  }
  drop_lost();
  take_question(asked);
  return asked;
}

void WatcherServer::send(std::string text) {
  if (watchers_.empty()) return;
  const Line line = std::make_shared<const std::string>(std::move(text));
  for (Watcher& watcher : watchers_) add_line(watcher, line);
  drop_lost();
}

void WatcherServer::send_to(uint64_t id, std::string text) {
  const auto watcher = std::ranges::find(watchers_, id, &Watcher::id);
  if (watcher == watchers_.end()) return;
  add_line(*watcher, std::make_shared<const std::string>(std::move(text)));
  drop_lost();
}

void WatcherServer::accept_new() {
  if (const int socket = listener_.accept(); socket >= 0) greet(socket);
}

void WatcherServer::greet(int socket) {
  if (watchers_.size() >= most_watchers) {
    ::close(socket);
    return;
  }
  Watcher& watcher = watchers_.emplace_back();
  watcher.id = next_id_++;
  watcher.socket = socket;
  const Line greeting = std::make_shared<const std::string>(greeting_());
  watcher.most_unsent = greeting->size() + most_unsent_;
  add_line(watcher, greeting);
}

void WatcherServer::read_from(Watcher& watcher, std::vector<Asked>& asked) {
  std::array<char, 4096> bytes;
  for (int reads = 0; reads < watcher_reads && !watcher.lost; ++reads) {
    ssize_t got = ::recv(watcher.socket, bytes.data(), bytes.size(), 0);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return;
    watcher.lost = got <= 0;
    if (watcher.lost) return;
    try {
      watcher.received.feed({bytes.data(), static_cast<size_t>(got)});
      while (auto line = watcher.received.next_line()) {
        const Request request = parse_request(*line);
        if (request.kind == Request::Kind::steps) watcher.asked.push_back(request);
        else asked.push_back({request, watcher.id});
      }
    } catch (const Failure&) {
      watcher.lost = true;
    }
    watcher.lost = watcher.lost || watcher.asked.size() > most_questions;
  }
}

// Of those who have read what they were told, the one that was answered longest ago comes first.
void WatcherServer::take_question(std::vector<Asked>& asked) {
  const auto watcher = std::ranges::find_if(
      watchers_, [](const Watcher& candidate) { return !candidate.asked.empty() && candidate.unsent.empty(); });
  if (watcher == watchers_.end()) return;
  asked.push_back({watcher->asked.front(), watcher->id});
  watcher->asked.pop_front();
  watchers_.splice(watchers_.end(), watchers_, watcher);
}

void WatcherServer::add_line(Watcher& watcher, const Line& line) {
  watcher.unsent.push_back(line);
  watcher.unsent_bytes += line->size();
  write_to(watcher);
  if (watcher.unsent_bytes > watcher.most_unsent) watcher.lost = true;
}

void WatcherServer::write_to(Watcher& watcher) {
  while (!watcher.lost && !watcher.unsent.empty()) {
    const std::string_view rest = std::string_view(*watcher.unsent.front()).substr(watcher.sent_of_first);
    const ssize_t put = rest.empty() ? 0 : ::send(watcher.socket, rest.data(), rest.size(), MSG_NOSIGNAL);
    if (put < 0 && errno == EINTR) continue;
    if (put < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return;
    if (put < 0) {
      watcher.lost = true;
      return;
    }
    watcher.unsent_bytes -= static_cast<size_t>(put);
    watcher.sent_of_first += static_cast<size_t>(put);
    if (watcher.sent_of_first < watcher.unsent.front()->size()) continue;
    watcher.unsent.pop_front();
    watcher.sent_of_first = 0;
  }
}

void WatcherServer::drop_lost() {
  watchers_.remove_if([](const Watcher& watcher) {
    if (watcher.lost) ::close(watcher.socket);
    return watcher.lost;
  });
}

}  // namespace shardscope
