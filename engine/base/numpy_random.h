#pragma once

#include <cstdint>
#include <random>

namespace shardscope {

// numpy.random.RandomState(seed), the legacy generator: MT19937 and NumPy's own way from its words to values, bit for
// bit (normals to the last bit of the C library's logarithm). Draws are sequential.
class NumpyRandom {
 public:
  explicit NumpyRandom(uint32_t seed) : engine_(seed) {}

  // randint(0, n, dtype=int32), one value; choice(n, size=k) is k of these. n >= 1.
  int32_t integer(int32_t n);
  // random_sample(): a double in [0, 1) of 53 bits.
  double unit();
  // normal(mean, deviation), by the polar method, which makes two at a time.
  double normal(double mean, double deviation);

 private:
  std::mt19937 engine_;
  double spare_ = 0;
  bool has_spare_ = false;
};

}  // namespace shardscope
