#pragma once

#include <poll.h>

#include <list>
#include <optional>
#include <string>
#include <vector>

#include "engine/session/listening_socket.h"
#include "engine/session/messages.h"
#include "engine/session/socket_file.h"

namespace shardscope {

// Where mpirun's remote shell, which is this program (run_remote_shell), asks to run a command on a host: a local
// socket that only this user can connect to.
class ShellServer {
 public:
  explicit ShellServer(std::string path);  // throws Failure (host_socket)
  ~ShellServer();
  ShellServer(const ShellServer&) = delete;
  ShellServer& operator=(const ShellServer&) = delete;

  const std::string& path() const { return path_; }
  void add_poll_entries(std::vector<pollfd>& entries) const;

  struct Request {
    std::string host, command;
  };
  // What was asked since the last call. What is no request is dropped, and who asks nothing for 30 seconds; of each
  // client at most 256 KiB are read in one call.
  std::vector<Request> serve();
  // Those who asked for a command on this host learn its exit code.
  void answer(const std::string& host, int exit_code);

 private:
  struct Client {
    int socket = -1;
    int64_t since_ns = 0;
    LineBuffer received{65536};
    std::string host;  // once it has asked
    bool gone = false;
  };
  void read_from(Client& client, std::vector<Request>& requests);
  void drop_gone();

  std::string path_;
  SocketFile file_;
  ListeningSocket listener_;
  std::list<Client> clients_;
};

// Named to ranks' launchers: the socket that run_remote_shell() connects to.
inline constexpr const char* shell_variable = "SHARDSCOPE_REMOTE_SHELL";

// Asks the launcher of the run to run `command` on `host`, waits for its end and gives its exit code; 1 where the
// launcher is not there.
int run_remote_shell(const std::string& host, const std::vector<std::string>& command);

}  // namespace shardscope
