#pragma once

#include <array>
#include <csignal>
#include <stop_token>
#include <thread>

namespace shardscope {

// While it lives, Ctrl-C, SIGTERM and SIGHUP request a stop of the work at hand, each unless it was ignored before
// (nohup); a second one ends the process as it always did. One at a time.
class CancelOnSignal {
 public:
  CancelOnSignal();
  ~CancelOnSignal();  // as they were before
  CancelOnSignal(const CancelOnSignal&) = delete;
  CancelOnSignal& operator=(const CancelOnSignal&) = delete;

  std::stop_token token() const { return stop_.get_token(); }
  int first() const;  // the signal; 0: none has come

 private:
  static constexpr std::array signals = {SIGINT, SIGTERM, SIGHUP};
  std::array<struct sigaction, signals.size()> before_;
  std::stop_source stop_;
  int wake_ = -1;  // eventfd
  std::jthread waiter_;
};

}  // namespace shardscope
