#include "engine/base/numpy_random.h"

#include <bit>
#include <cmath>

namespace shardscope {

int32_t NumpyRandom::integer(int32_t n) {
  const uint32_t largest = static_cast<uint32_t>(n) - 1;
  if (largest == 0) return 0;
  const uint32_t mask = ~uint32_t{0} >> std::countl_zero(largest);
  uint32_t draw = 0;
  do {
    draw = static_cast<uint32_t>(engine_()) & mask;
  } while (draw > largest);
  return static_cast<int32_t>(draw);
}

double NumpyRandom::unit() {
  const double high = static_cast<double>(static_cast<uint32_t>(engine_()) >> 5);
  const double low = static_cast<double>(static_cast<uint32_t>(engine_()) >> 6);
  return (high * 67108864.0 + low) / 9007199254740992.0;
}

double NumpyRandom::normal(double mean, double deviation) {
  if (has_spare_) {
    has_spare_ = false;
    return mean + deviation * spare_;
  }
  double x = 0, y = 0, square = 0;
  do {
    x = 2.0 * unit() - 1.0;
    y = 2.0 * unit() - 1.0;
    square = x * x + y * y;
  } while (square >= 1.0 || square == 0.0);
  const double factor = std::sqrt(-2.0 * std::log(square) / square);
  spare_ = factor * x;
  has_spare_ = true;
  return mean + deviation * factor * y;
}

}  // namespace shardscope
