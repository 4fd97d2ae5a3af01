#pragma once

#include <poll.h>

#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <string>
#include <vector>

#include "engine/session/host_link.h"
#include "engine/session/listening_socket.h"

namespace shardscope {

// Where the agents of a run's hosts connect. Anyone else may connect, too: what is not yet known to be an agent is
// limited in number and time, and at the limit the newest is refused, which an agent answers by coming again. An agent
// is known by its first bytes (host_link.h), which are there when its connection is, so that it never waits behind
// others.
class AgentPort {
 public:
  static constexpr size_t most_unauthenticated = 64;
  static constexpr size_t most_known = 4;                       // of each host
  static constexpr int64_t unauthenticated_ns = 5'000'000'000;  // from the connection to the proof

  // `secret_of` gives the secret of a host whose agent is awaited, else an empty text.
  explicit AgentPort(std::function<std::string(uint32_t host)> secret_of);

  // Listens at an address of this machine, at any port; once for each address. Gives "ADDRESS:PORT". Throws Failure
  // (host_socket).
  std::string listen_at(const std::string& address);
  const std::vector<std::string>& addresses() const { return addresses_; }

  void add_poll_entries(std::vector<pollfd>& entries) const;
  // Accepts, reads and drops what it can at this time; gives the links that have been proved.
  std::vector<HostLink> serve(int64_t now_ns);
  // Listens no more, and drops all that has not been proved.
  void close();

  // "; 812 unauthenticated connections came to ADDRESS:PORT, of which 700 were refused"; empty where there was none.
  std::string note() const;

 private:
  struct Peer {
    HostLink link;
    int64_t since_ns = 0;
  };
  void accept_new(int64_t now_ns);
  void admit(int socket, int64_t now_ns);
  size_t known_of(uint32_t host) const;

  std::function<std::string(uint32_t)> secret_of_;
  std::vector<std::string> addresses_, places_;
  std::vector<ListeningSocket> listeners_;
  std::list<Peer> peers_;
  int64_t dropped_ = 0, refused_ = 0;
};

}  // namespace shardscope
