#pragma once

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <functional>
#include <string>
#include <thread>

namespace shardscope {

// In the place of a run a server that sends to each client what it likes, as fast as that reads, on a thread of its
// own: a beginning, then pieces until there is none (empty) or the client has gone.
class HostileServer {
 public:
  using Piece = std::function<std::string(int number)>;

  HostileServer(const std::string& path, std::string beginning, Piece piece)
      : beginning_(std::move(beginning)), piece_(std::move(piece)), socket_(::socket(AF_UNIX, SOCK_STREAM, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::copy(path.begin(), path.end(), address.sun_path);
    is_listening_ =
        ::bind(socket_, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0 && ::listen(socket_, 8) == 0;
    thread_ = std::thread([this] { serve(); });
  }
  ~HostileServer() {
    is_ending_ = true;
    thread_.join();
    ::close(socket_);
  }
  HostileServer(const HostileServer&) = delete;
  HostileServer& operator=(const HostileServer&) = delete;

  bool is_listening() const { return is_listening_; }
  size_t sent() const { return sent_; }  // bytes, to all

 private:
  void serve() {
    while (!is_ending_) {
      pollfd entry{socket_, POLLIN, 0};
      if (::poll(&entry, 1, 20) <= 0) continue;
      const int client = ::accept(socket_, nullptr, nullptr);
      if (client < 0) continue;
      bool is_there = send(client, beginning_);
      for (int number = 0; is_there; ++number) {
        const std::string piece = piece_(number);
        if (piece.empty()) break;
        is_there = send(client, piece);
      }
      char read = 0;
      while (is_there && !is_ending_ && ::recv(client, &read, 1, MSG_DONTWAIT) != 0) {
        pollfd end{client, POLLIN, 0};
        ::poll(&end, 1, 20);
      }
      ::close(client);
    }
  }

  bool send(int client, const std::string& bytes) {
    for (size_t done = 0; done < bytes.size();) {
      pollfd entry{client, POLLOUT, 0};
      while (::poll(&entry, 1, 20) == 0)
        if (is_ending_) return false;
      const ssize_t put = ::send(client, bytes.data() + done, bytes.size() - done, MSG_NOSIGNAL | MSG_DONTWAIT);
      if (put < 0 && errno != EAGAIN) return false;
      if (put < 0) continue;
      done += static_cast<size_t>(put);
      sent_ += static_cast<size_t>(put);
    }
    return true;
  }

  const std::string beginning_;
  const Piece piece_;
  const int socket_;
  bool is_listening_ = false;
  std::atomic<bool> is_ending_ = false;
  std::atomic<size_t> sent_ = 0;
  std::thread thread_;
};

}  // namespace shardscope
