#include "viz/paint/ticks.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace shardscope {

std::string Ticks::label(int mark) const {
  const double value = first + step * mark;
  return fmt::format("{:.{}f}", std::abs(value) < step / 2 ? 0.0 : value, decimals);
}

Ticks round_ticks(double low, double high, int most) {
  const double least = std::max({std::abs(low), std::abs(high), 1e-9}) * 1e-3;
  if (high - low < least) {
    const double middle = (low + high) / 2, half = std::max(std::abs(middle) * 0.02, 1e-9);
    high = middle + half;
    low = low >= 0 ? std::max(0.0, middle - half) : middle - half;
  }
  int power = static_cast<int>(std::floor(std::log10((high - low) / most)));
  while (true) {
    for (const int digit : {1, 2, 5}) {
      const double step = digit * std::pow(10.0, power);
      const double first = std::floor(low / step + 1e-9), last = std::ceil(high / step - 1e-9);
      if (last - first + 1 > most) continue;
      return {first * step, step, std::max(2, static_cast<int>(last - first) + 1), std::max(0, -power)};
    }
    ++power;
  }
}

}  // namespace shardscope
