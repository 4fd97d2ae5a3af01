#pragma once

#include <optional>
#include <vector>

#include "engine/simulate/streams.h"

namespace shardscope {

struct TimeSpan {
  double start = 0, end = 0;
};

// The transfer of a collective, on its stream.
struct TransferSpan {
  int position = 0;  // of its start
  int stream = 0;
  TimeSpan span;  // from where it first runs; it may have paused since
};

// The streams of one stage's devices, in seconds from the beginning. The caller issues instructions in order; transfers
// go on beside them. On a stream transfers run one at a time, in the order of their starts. Streams that are not joined
// take turns: compute goes first, then the stream of the transfer that is waited for, then the one whose transfer was
// started first. Of what several streams slow down the factors multiply.
//
// Instructions run no earlier than the host has issued them (Streams::issue_seconds), which counts from the beginning,
// or from the last message that it waited for. A span begins when its device could run it.
//
// Example: start of 4 s, compute of 3 s, both 1.5 times as long beside each other: compute ends at 4.5 s, when 3 s of
// the transfer are done; waiting for it takes 1 s more.
class StageClock {
 public:
  explicit StageClock(const Streams& streams) : streams_(&streams), queues_(streams.names.size()) {}

  double time() const { return time_; }
  double exposed() const { return exposed_; }
  double hidden() const { return hidden_; }
  // By end.
  const std::vector<TransferSpan>& transfers() const { return transfers_; }

  TimeSpan compute(double seconds);
  // The device has nothing to do until then.
  void idle_until(double time);
  // A message is there then, for which the device waits; and the host, where it does.
  void await(double message);
  // Enqueues a transfer, at no time of the device.
  TimeSpan start(int position, int stream, double seconds);
  // Waits for it; returns when it did.
  TimeSpan finish(int position, int stream);
  bool is_open(int position, int stream) const;          // started and not ended
  double queued_seconds(int stream) const;               // what is left of its transfers, each alone
  double queued_behind(int position, int stream) const;  // of those started later than an open one

 private:
  // The host issues one more instruction; the device has nothing else to do until then.
  void issue();
  struct Transfer {
    int position = 0;
    int number = 0;  // in the order of starts
    double remaining = 0;
    std::optional<double> begun;
  };
  struct Queue {
    std::vector<Transfer> transfers;  // those before `first` are done
    size_t first = 0;
    bool empty() const { return first == transfers.size(); }
    Transfer& front() { return transfers[first]; }
  };

  // The streams whose transfers run now: `running_`. `first` comes first; -1: none does.
  void choose(bool computes, int first);
  double slowdown(int stream, bool computes) const;
  // So long the chosen transfers run; those that end go.
  void run(double seconds, bool computes);
  // When the first of them ends, from now on.
  double first_end(bool computes);

  const Streams* streams_;
  std::vector<Queue> queues_;  // by stream
  std::vector<int> running_;
  std::vector<TransferSpan> transfers_;
  double time_ = 0, exposed_ = 0, hidden_ = 0;
  double issued_ = 0;  // when the host has issued the last instruction
  int started_ = 0, open_ = 0;
};

}  // namespace shardscope
