#pragma once

#include <poll.h>

#include <cstdint>
#include <vector>

namespace shardscope {

// A socket at which others connect. It is polled only while a connection could be taken: after one that could not (out
// of descriptors) it rests for a second, in which poll() would return at once, again and again.
class ListeningSocket {
 public:
  ListeningSocket() = default;
  explicit ListeningSocket(int socket) : socket_(socket) {}  // it listens, non-blocking; closed by this
  ListeningSocket(ListeningSocket&& other) noexcept;
  ListeningSocket& operator=(ListeningSocket&& other) noexcept;
  ~ListeningSocket() { close(); }

  void add_poll_entry(std::vector<pollfd>& entries) const;
  // The next connection, non-blocking and closed on exec, which is the caller's; -1: there is none now.
  int accept();
  void close();

 private:
  int socket_ = -1;
  int64_t accept_from_ns_ = 0;  // CLOCK_MONOTONIC
};

}  // namespace shardscope
