#pragma once

#include <netinet/in.h>

#include <cstdint>
#include <string>
#include <thread>
#include <vector>

namespace shardscope::faults {

// A TCP port at which a process listens.
struct TcpPort {
  std::string address;  // "0.0.0.0", "127.0.0.1", "::"
  uint16_t port = 0;

  bool is_ipv6() const { return address.find(':') != std::string::npos; }
  bool is_on_loopback() const { return address.starts_with("127.") || address == "::1"; }
};
std::vector<TcpPort> listening_ports(int pid);  // as /proc says; none where it has gone

// An unauthenticated peer: a connection to a port of a process, made in the network of that process.
class TcpPeer {
 public:
  TcpPeer(int pid, const TcpPort& port);
  TcpPeer(TcpPeer&& other) noexcept;
  ~TcpPeer();
  TcpPeer(const TcpPeer&) = delete;
  TcpPeer& operator=(const TcpPeer&) = delete;

  bool is_connected() const { return is_connected_; }
  bool send(const std::string& bytes) const;

 private:
  int socket_ = -1;
  bool is_connected_ = false;
};

// Connections to ports of a process, made as fast as two threads can while this lives. None says anything; the newest
// few hundred are held.
class TcpFlood {
 public:
  TcpFlood(int pid, std::vector<TcpPort> ports);

 private:
  std::vector<std::jthread> threads_;
};

}  // namespace shardscope::faults
