#pragma once

#include <sys/socket.h>

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "engine/session/messages.h"
#include "tests/session/socket_client.h"

namespace shardscope {

// A client of a run: what it sends are requests, what it gets are messages. Blocks.
class RunClient : public SocketClient {
 public:
  explicit RunClient(const std::string& path) : SocketClient(path), open_(connected()) {}

  bool is_open() const { return open_; }
  void send(const Request& request) {
    const std::string line = to_json_line(request);
    open_ = open_ && SocketClient::send(line) == std::ssize(line);
  }
  // Nothing when the other side has closed it.
  std::optional<Message> next() {
    for (;;) {
      if (auto message = decoder_.next()) return message;
      const ssize_t got = ::recv(socket_, bytes_.data(), bytes_.size(), 0);
      if (got <= 0) {
        open_ = false;
        return std::nullopt;
      }
      decoder_.feed({bytes_.data(), static_cast<size_t>(got)});
    }
  }
  ssize_t read_some(size_t bytes) { return ::recv(socket_, bytes_.data(), std::min(bytes, bytes_.size()), 0); }

 private:
  bool open_ = false;
  MessageDecoder decoder_;
  std::vector<char> bytes_ = std::vector<char>(1 << 16);
};

// Which steps a client was sent; asks for those between that it was not.
class KnownSteps {
 public:
  // Calls `take` with each step that the message has.
  template <class Take>
  void add(const Message& message, RunClient& client, const Take& take) {
    if (auto* snapshot = std::get_if<SnapshotMessage>(&message)) {
      for (const StepMessage& step : snapshot->steps) add_step(step, take);
      ask(client);
    } else if (auto* step = std::get_if<StepMessage>(&message)) {
      add_step(*step, take);
    } else if (auto* answer = std::get_if<StepsMessage>(&message)) {
      for (const StepMessage& past : answer->steps) add_step(past, take);
      asked_ = false;
      ask(client);
    }
  }
  bool has_all(int64_t steps) const { return first_missing_ >= steps; }
  int64_t first_missing() const { return first_missing_; }
  // The connection is gone, and with it the answer that was waited for.
  void lose_connection() { asked_ = false; }

 private:
  template <class Take>
  void add_step(const StepMessage& step, const Take& take) {
    take(step);
    if (step.step >= first_missing_) known_.insert(step.step);
    for (; !known_.empty() && *known_.begin() == first_missing_; ++first_missing_) known_.erase(known_.begin());
  }
  void ask(RunClient& client) {
    if (asked_ || known_.empty()) return;
    client.send(Request::steps(first_missing_, *known_.begin()));
    asked_ = true;
  }

  std::set<int64_t> known_;  // beyond first_missing_
  int64_t first_missing_ = 0;
  bool asked_ = false;
};

}  // namespace shardscope
