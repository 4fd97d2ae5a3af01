#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <stop_token>
#include <thread>
#include <vector>

namespace shardscope {

// Threads that take pieces of work in the order in which they were started; the first is made for the first piece.
// QThreadPool does the same; its locks are invisible to the thread sanitizer, which these let follow each piece.
class WorkerThreads {
 public:
  explicit WorkerThreads(int count) : count_(count) {}
  ~WorkerThreads();  // waits for all that was started
  WorkerThreads(const WorkerThreads&) = delete;
  WorkerThreads& operator=(const WorkerThreads&) = delete;

  // As many threads as there are cores, for all that need none of their own. They end with the application: what Qt
  // keeps for each thread, such as fonts that it painted with, is given back only before Qt's own globals go.
  static WorkerThreads& shared();

  void start(std::function<void()> work);  // which throws nothing
  void wait();                             // for all that was started
  void end();                              // waits, and joins the threads; start() makes new ones

 private:
  void take_work(const std::stop_token& stop);

  const int count_;
  std::mutex mutex_;  // guards what follows
  std::condition_variable_any changed_;
  std::deque<std::function<void()>> waiting_;
  int at_work_ = 0;
  std::vector<std::jthread> threads_;  // last: end before the rest goes
};

}  // namespace shardscope
