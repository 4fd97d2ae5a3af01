#pragma once

#include <poll.h>

#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <memory>
#include <string>
#include <vector>

#include "engine/session/listening_socket.h"
#include "engine/session/messages.h"
#include "engine/session/socket_file.h"

namespace shardscope {

// The local (Unix domain) socket at which clients of a run connect. Never blocks, and never works long: in one call of
// serve() at most one client is greeted and one answered, and of each at most 64 KiB are read. What a client does not
// read is kept for it up to a limit (lines for several clients once), beyond which it is dropped; it may come again
// and gets a fresh snapshot. Only the user who runs it can connect. The socket's file is removed when this object goes,
// unless another has its path by then.
class RunServer {
 public:
  static constexpr size_t most_clients = 64;  // more are sent away at once

  // `greeting` gives the lines for a client that has just connected; they do not count in `most_unsent`. Throws
  // Failure (code session_socket) when the path is too long, in use or cannot be made.
  RunServer(std::string path, std::function<std::string()> greeting, size_t most_unsent = size_t{1} << 20);
  ~RunServer();
  RunServer(const RunServer&) = delete;
  RunServer& operator=(const RunServer&) = delete;

  const std::string& path() const { return path_; }
  size_t clients() const { return clients_.size(); }
  bool has_clients() const { return !clients_.empty(); }
  bool has_unsent() const;

  void add_poll_entries(std::vector<pollfd>& entries) const;

  struct Asked {
    Request request;
    uint64_t client = 0;
  };
  // Accepts, reads and writes what is possible now; gives what clients asked for. A client that sends anything but
  // requests, or asks for steps much faster than it reads them, is dropped.
  std::vector<Asked> serve();
  void send(std::string line);                      // to all
  void send_to(uint64_t client, std::string line);  // without effect where it has gone

 private:
  using Line = std::shared_ptr<const std::string>;
  struct Client {
    uint64_t id = 0;
    int socket = -1;
    std::deque<Line> unsent;
    size_t unsent_bytes = 0, sent_of_first = 0;
    size_t most_unsent = 0;
    LineBuffer received{4096};
    std::deque<Request> asked;  // for steps, not yet answered
    bool lost = false;
  };

  void accept_new();
  void greet(int socket);
  void read_from(Client& client, std::vector<Asked>& asked);
  void take_question(std::vector<Asked>& asked);
  void add_line(Client& client, const Line& line);
  void write_to(Client& client);
  void drop_lost();

  std::string path_;
  std::function<std::string()> greeting_;
  size_t most_unsent_;
  SocketFile file_;
  ListeningSocket listener_;
  uint64_t next_id_ = 1;
  std::list<Client> clients_;
};

}  // namespace shardscope
