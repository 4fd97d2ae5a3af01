#pragma once

#include <cstdint>
#include <random>
#include <vector>

namespace shardscope::fuzz {

// What a mutant is made from: the same numbers on every machine for the same seed.
class Random {
 public:
  explicit Random(uint64_t seed) : engine_(seed) {}

  uint64_t number() { return engine_(); }
  // Below `count`, which is above 0.
  size_t below(size_t count) { return static_cast<size_t>(engine_() % count); }
  bool one_in(size_t count) { return below(count) == 0; }
  // Between 1 and `most`, small ones more often.
  size_t size(size_t most) { return 1 + below(1 + below(1 + below(most))); }
  template <class T>
  const T& of(const std::vector<T>& list) {
    return list[below(list.size())];
  }

 private:
  std::mt19937_64 engine_;
};

}  // namespace shardscope::fuzz
