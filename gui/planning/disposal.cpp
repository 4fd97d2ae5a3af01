#include "gui/planning/disposal.h"

#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#include "engine/base/heap.h"

namespace shardscope {
namespace {

class Disposal {
 public:
  void take(std::function<void()> end) {
    {
      const std::lock_guard lock(mutex_);
      waiting_.push_back(std::move(end));
    }
    wake_.notify_one();
  }

 private:
  void work(const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    while (wake_.wait(lock, stop, [this] { return !waiting_.empty(); })) {
      const std::vector<std::function<void()>> now = std::exchange(waiting_, {});
      lock.unlock();
      for (const std::function<void()>& end : now) end();
      trim_heap();
      lock.lock();
    }
  }

  std::mutex mutex_;
  std::condition_variable_any wake_;
  std::vector<std::function<void()>> waiting_;
  std::jthread thread_{[this](const std::stop_token& stop) { work(stop); }};
};

}  // namespace

void let_go(std::function<void()> end) {
  static Disposal disposal;
  disposal.take(std::move(end));
}

}  // namespace shardscope
