#include "viz/paint/ticks.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace shardscope {
namespace {

constexpr double farthest = 1e300;  // so that the distance of two is a number
constexpr double largest_written_out = 1e9;
constexpr int fewest_marks = 3;
constexpr int most_digits = 15;

double bounded(double value) { return std::isnan(value) ? 0 : std::clamp(value, -farthest, farthest); }

Ticks ticks_of(double first, double step, int count, int power) {
  Ticks ticks{first, step, count, std::max(0, -power), false};
  const double largest = std::max(std::abs(first), std::abs(ticks.last()));
  ticks.is_scientific = largest >= largest_written_out;
  if (ticks.is_scientific)
    ticks.decimals = std::clamp(static_cast<int>(std::floor(std::log10(largest))) - power + 1, 1, most_digits);
  return ticks;
}

}  // namespace

std::string Ticks::format() const { return fmt::format("%.{}{}", decimals, is_scientific ? 'g' : 'f'); }

std::string Ticks::label(int mark) const {
  const double value = first + step * mark, shown = std::abs(value) < step / 2 ? 0.0 : value;
  return is_scientific ? fmt::format("{:.{}g}", shown, decimals) : fmt::format("{:.{}f}", shown, decimals);
}

Ticks round_ticks(double low, double high, int most) {
  low = bounded(low);
  high = bounded(high);
  if (low > high) std::swap(low, high);
  most = std::max(most, fewest_marks);
  const double least = std::max({std::abs(low), std::abs(high), 1e-9}) * 1e-3;
  if (high - low < least) {
    const double middle = low / 2 + high / 2, half = std::max(std::abs(middle) * 0.02, 1e-9);
    high = middle + half;
    low = low >= 0 ? std::max(0.0, middle - half) : middle - half;
  }
  int power = static_cast<int>(std::floor(std::log10((high - low) / most)));
  while (true) {
    for (const int digit : {1, 2, 5}) {
      const double step = digit * std::pow(10.0, power);
      const double first = std::floor(low / step + 1e-9), last = std::ceil(high / step - 1e-9);
      if (last - first + 1 > most) continue;
      return ticks_of(first * step, step, std::max(2, static_cast<int>(last - first) + 1), power);
    }
    ++power;
  }
}

std::vector<double> inner_marks(double low, double high, int most) {
  std::vector<double> list;
  low = bounded(low);
  high = bounded(high);
  most = std::max(most, fewest_marks);
  if (!(high > low)) return list;
  const double least = std::max((high - low) / most, 1 / farthest);
  for (int power = static_cast<int>(std::floor(std::log10(least)));; ++power) {
    for (const int digit : {1, 2, 5}) {
      const double step = digit * std::pow(10.0, power), first = std::ceil(low / step);
      if (!(std::floor(high / step) - first < most)) continue;
      for (int i = 0; i < most; ++i) {
        const double value = (first + i) * step;
        if (value >= low && value <= high && (list.empty() || value > list.back())) list.push_back(value);
      }
      return list;
    }
  }
}

std::vector<double> log_marks(double low, double high, int most) {
  if (!(low > 0 && high > 0)) return {};
  low = std::clamp(low, 1 / farthest, farthest);
  high = std::clamp(high, 1 / farthest, farthest);
  most = std::max(most, fewest_marks);
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
    list = inner_marks(low, high, most);
    std::erase_if(list, [](double mark) { return mark <= 0; });
  }
  for (int stride = 1; std::ssize(list) > most; ++stride) list = marks({1}, stride);
  return list;
}

}  // namespace shardscope
