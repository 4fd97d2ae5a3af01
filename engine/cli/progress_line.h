#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

namespace shardscope {

// A line on standard error, where that is a terminal, from the moment that a piece of work has taken 200 ms: what it
// does, and how much of it is done as soon as that is known. Its own thread keeps it, so that it is also there while
// nobody can tell how far the work is. Nothing is left of it.
class ProgressLine {
 public:
  explicit ProgressLine(std::string what);  // "x.csv: planning"
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  void begin(std::string what);  // something else, of which nothing is done
  void show(double share);       // 0 to 1
  double seconds() const;        // since the beginning

 private:
  void keep(const std::stop_token& stop);

  const std::chrono::steady_clock::time_point begun_ = std::chrono::steady_clock::now();
  std::mutex mutex_;
  std::condition_variable_any ended_;
  std::string what_;
  double share_ = -1;  // not known
  std::jthread keeper_;
};

}  // namespace shardscope
