#include "engine/runtime/parallel.h"

#include <omp.h>

#include <algorithm>
#include <exception>

namespace shardscope {

void parallel_for(int threads, int64_t count, int64_t grain, RangeFunction function, void* body) {
  if (count <= 0) return;
  const int64_t grains = (count + grain - 1) / grain;
  const int64_t parts = std::clamp<int64_t>(threads, 1, grains);
  if (parts == 1) {
    function(body, 0, count, 0);
    return;
  }
  std::exception_ptr failure;
#pragma omp parallel for schedule(static, 1) num_threads(static_cast <int>(parts))
  for (int64_t part = 0; part < parts; ++part) {
    try {
      const int64_t begin = grains * part / parts * grain;
      const int64_t end = std::min(count, grains * (part + 1) / parts * grain);
      function(body, begin, end, static_cast<int>(part));
    } catch (...) {
#pragma omp critical(shardscope_parallel_for)
      if (!failure) failure = std::current_exception();
    }
  }
  if (failure) std::rethrow_exception(failure);
}

ThreadLimit::ThreadLimit(int threads) : previous_(omp_get_max_threads()) {
  if (threads != previous_) omp_set_num_threads(threads);
}

ThreadLimit::~ThreadLimit() {
  if (omp_get_max_threads() != previous_) omp_set_num_threads(previous_);
}

}  // namespace shardscope
