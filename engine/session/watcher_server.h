#pragma once

#include <poll.h>

#include <functional>
#include <list>
#include <string>
#include <string_view>
#include <vector>

#include "engine/session/messages.h"

namespace shardscope {

// The local (Unix domain) socket at which watchers of a run connect. Never blocks: what a watcher does not read is
// kept for it up to a limit, beyond which it is dropped (it may come again and gets a fresh snapshot). Only the user
// who runs it can connect. The socket's file is removed when this object goes.
class WatcherServer {
 public:
  // `greeting` gives the lines for a watcher that has just connected. Throws Failure (code session_socket) when the
  // path is too long, in use or cannot be made.
  WatcherServer(std::string path, std::function<std::string()> greeting, size_t most_unsent = size_t{64} << 20);
  ~WatcherServer();
  WatcherServer(const WatcherServer&) = delete;
  WatcherServer& operator=(const WatcherServer&) = delete;

  const std::string& path() const { return path_; }
  bool has_watchers() const { return !watchers_.empty(); }
  bool has_unsent() const;

  void add_poll_entries(std::vector<pollfd>& entries) const;
  // Accepts, reads and writes what is possible now; gives what watchers asked for. A watcher that sends anything but
  // requests is dropped.
  std::vector<Request> serve();
  void send(std::string_view line);

 private:
  struct Watcher {
    int socket = -1;
    std::string unsent;
    LineBuffer received{4096};
    bool lost = false;
  };

  void accept_new();
  void read_from(Watcher& watcher, std::vector<Request>& requests);
  void write_to(Watcher& watcher);
  void drop_lost();

  std::string path_;
  std::function<std::string()> greeting_;
  size_t most_unsent_;
  int listener_ = -1;
  std::list<Watcher> watchers_;
};

}  // namespace shardscope
