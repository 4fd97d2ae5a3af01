#pragma once

#include <cstdint>
#include <type_traits>

namespace shardscope {

using RangeFunction = void (*)(void* body, int64_t begin, int64_t end, int thread);
void parallel_for(int threads, int64_t count, int64_t grain, RangeFunction function, void* body);

// Cuts [0, count) into at most `threads` contiguous ranges of nearly equal size, whose inner borders are multiples of
// `grain`, and calls body(begin, end, thread) for each, at the same time on the threads of the OpenMP pool. The cut is
// a function of the arguments alone. One range runs on the calling thread without any OpenMP region. The first
// exception of a body is thrown again here.
template <class Body>
void parallel_for(int threads, int64_t count, int64_t grain, Body&& body) {
  using Type = std::remove_reference_t<Body>;
  RangeFunction call = [](void* object, int64_t begin, int64_t end, int thread) {
    (*static_cast<Type*>(object))(begin, end, thread);
  };
  parallel_for(threads, count, grain, call, const_cast<std::remove_const_t<Type>*>(&body));
}

// While it lives, OpenMP regions (oneDNN's too) that the calling thread starts have `threads` threads.
class ThreadLimit {
 public:
  explicit ThreadLimit(int threads);
  ~ThreadLimit();
  ThreadLimit(const ThreadLimit&) = delete;
  ThreadLimit& operator=(const ThreadLimit&) = delete;

 private:
  int previous_;
};

}  // namespace shardscope
