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

std::vector<double> log_marks(double low, double high, int most) {
  const int first = static_cast<int>(std::floor(std::log10(low))), last = static_cast<int>(std::ceil(std::log10(high)));
  const auto marks = [&](std::initializer_list<int> digits, int stride) {
    std::vector<double> list;
    for (int power = first; power <= last; power += stride)
      for (const int digit : digits)
        if (const double value = digit * std::pow(10.0, power); value >= low * (1 - 1e-9) && value <= high * (1 + 1e-9))
          list.push_back(value);
    return list;
  };
  std::vector<double> list = marks({1, 2, 5}, 1);
  if (std::ssize(list) < 3) {
    const Ticks ticks = round_ticks(low, high, most);
    list.clear();
    for (int i = 0; i < ticks.count; ++i)
      if (const double value = ticks.first + ticks.step * i; value >= low && value <= high) list.push_back(value);
  }
  for (int stride = 1; std::ssize(list) > most; ++stride) list = marks({1}, stride);
  return list;
}

}  // namespace shardscope
