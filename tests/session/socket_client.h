#pragma once

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <string>

namespace shardscope {

// The other end of a run's local socket.
class SocketClient {
 public:
  // `flags` as socket() takes them: SOCK_NONBLOCK.
  explicit SocketClient(const std::string& path, int flags = 0)
      : socket_(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | flags, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, sizeof address.sun_path - 1);
    connected_ = ::connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
  }
  ~SocketClient() { ::close(socket_); }
  SocketClient(const SocketClient&) = delete;
  SocketClient& operator=(const SocketClient&) = delete;

  bool connected() const { return connected_; }
  // How many bytes were taken; -1 where none were.
  ssize_t send(const std::string& text) const { return ::send(socket_, text.data(), text.size(), MSG_NOSIGNAL); }

 protected:
  const int socket_;

 private:
  bool connected_ = false;
};

}  // namespace shardscope
