#include "gui/background/worker_threads.h"

#include <QCoreApplication>
#include <algorithm>
#include <utility>

namespace shardscope {

WorkerThreads::~WorkerThreads() { wait(); }

WorkerThreads& WorkerThreads::shared() {
  static WorkerThreads threads(std::max(2, static_cast<int>(std::thread::hardware_concurrency())));
  static const bool end_with_application = (qAddPostRoutine([] { shared().end(); }), true);
  Q_UNUSED(end_with_application)
  return threads;
}

void WorkerThreads::start(std::function<void()> work) {
  const std::lock_guard lock(mutex_);
  waiting_.push_back(std::move(work));
  const int wanted = std::min(count_, at_work_ + static_cast<int>(waiting_.size()));
  if (static_cast<int>(threads_.size()) < wanted)
    threads_.emplace_back([this](const std::stop_token& stop) { take_work(stop); });
  changed_.notify_all();
}

void WorkerThreads::wait() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return waiting_.empty() && at_work_ == 0; });
}

void WorkerThreads::end() {
  wait();
  std::vector<std::jthread> ended;
  const std::lock_guard lock(mutex_);
  ended.swap(threads_);
}

void WorkerThreads::take_work(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  while (changed_.wait(lock, stop, [this] { return !waiting_.empty(); })) {
    std::function<void()> work = std::move(waiting_.front());
    waiting_.pop_front();
    ++at_work_;
    lock.unlock();
    work();
    work = nullptr;
    lock.lock();
    --at_work_;
    changed_.notify_all();
  }
}

}  // namespace shardscope
