#include "engine/runtime/kernels/parallel.h"

#include <omp.h>

#include <algorithm>
#include <exception>
#include <mutex>

#include "engine/runtime/kernels/fork_join.h"

namespace shardscope {

namespace {

struct Region {
  int64_t count, grain, grains, parts;
  RangeFunction function;
  void* body;
  std::mutex mutex;  // guards `failure`
  std::exception_ptr failure;

  void run(int part) {
    try {
      const int64_t begin = grains * part / parts * grain;
      const int64_t end = std::min(count, grains * (part + 1) / parts * grain);
      function(body, begin, end, part);
    } catch (...) {
      const std::lock_guard lock(mutex);
      if (!failure) failure = std::current_exception();
    }
  }
};

}  // namespace

void parallel_for(int threads, int64_t count, int64_t grain, RangeFunction function, void* body) {
  if (count <= 0) return;
  const int64_t grains = (count + grain - 1) / grain;
  const int64_t parts = std::clamp<int64_t>(threads, 1, grains);
  if (parts == 1) {
    function(body, 0, count, 0);
    return;
  }
  Region region{count, grain, grains, parts, function, body, {}, {}};
  fork_join(
      static_cast<int>(parts), [](void* object, int part) { static_cast<Region*>(object)->run(part); }, &region);
  if (region.failure) std::rethrow_exception(region.failure);
}

ThreadLimit::ThreadLimit(int threads) : previous_(omp_get_max_threads()) {
  if (threads != previous_) omp_set_num_threads(threads);
}

ThreadLimit::~ThreadLimit() {
  if (omp_get_max_threads() != previous_) omp_set_num_threads(previous_);
}

}  // namespace shardscope
