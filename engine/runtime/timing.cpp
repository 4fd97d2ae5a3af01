#include "engine/runtime/timing.h"

#include <time.h>

#include <algorithm>
#include <exception>
#include <mutex>
#include <thread>

namespace shardscope {

Timing timing_of(std::vector<double> seconds) {
  std::ranges::sort(seconds);
  const auto quantile = [&](size_t quarters) { return seconds[(seconds.size() - 1) * quarters / 4]; };
  const double median = quantile(2);
  return {median, (quantile(3) - quantile(1)) / median, static_cast<int>(seconds.size())};
}

double processor_seconds() {
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

void run_on_threads(int count, const std::function<void(int)>& body) {
  std::exception_ptr failure;
  std::mutex mutex;
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < count; ++i) {
      threads.emplace_back([&, i] {
        try {
          body(i);
        } catch (...) {
          const std::lock_guard lock(mutex);
          if (!failure) failure = std::current_exception();
        }
      });
    }
  }
  if (failure) std::rethrow_exception(failure);
}

}  // namespace shardscope
