#include "engine/base/units.h"

#include <fmt/format.h>

#include <array>
#include <cmath>

namespace shardscope {
namespace {

std::string three_digits(double value) {
  const double size = std::abs(value);
  if (size >= 1e15) return fmt::format("{:.3g}", value);
  if (size >= 99.95) return fmt::format("{:.0f}", value);
  if (size >= 9.995) return fmt::format("{:.1f}", value);
  return fmt::format("{:.2f}", value);
}

constexpr std::array byte_units = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};

// Longer times in the unit in which they are some, with one decimal.
struct TimeUnit {
  double seconds, from;
  const char* name;
};
constexpr double minute = 60, hour = 60 * minute, day = 24 * hour, year = 365.25 * day;
constexpr TimeUnit time_units[] = {
    {year, 2 * year, "years"}, {day, 2 * day, "days"}, {hour, 2 * hour, "h"}, {minute, 10 * minute, "min"}};

std::string one_decimal(double value) {
  return std::abs(value) < 99.95 ? fmt::format("{:.1f}", value) : three_digits(value);
}

// How often `base` goes into the value, as far as there are units: brings the value below it.
size_t take_unit(double& value, double base, size_t units) {
  size_t unit = 0;
  while (std::abs(value) >= base * 0.9995 && unit + 1 < units) {
    value /= base;
    ++unit;
  }
  return unit;
}

template <size_t n>
std::string scaled(double value, double base, const std::array<const char*, n>& units) {
  const size_t unit = take_unit(value, base, n);
  const bool whole = unit == 0 && value == std::round(value);
  const std::string number = whole ? fmt::format("{:.0f}", value) : three_digits(value);
  return *units[unit] ? number + " " + units[unit] : number;
}

}  // namespace

std::string bytes_text(double bytes) { return scaled(bytes, 1024, byte_units); }

ByteUnit byte_unit(double bytes) {
  const size_t unit = take_unit(bytes, 1024, byte_units.size());
  return {std::pow(1024.0, double(unit)), byte_units[unit]};
}

std::string seconds_text(double seconds) {
  const double size = std::abs(seconds);
  if (size == 0) return "0 s";
  if (size < 0.9995e-6) return three_digits(seconds * 1e9) + " ns";
  if (size < 0.9995e-3) return three_digits(seconds * 1e6) + " \u00b5s";
  if (size < 0.9995) return three_digits(seconds * 1e3) + " ms";
  for (const TimeUnit& unit : time_units)
    if (size >= unit.from) return one_decimal(seconds / unit.seconds) + " " + unit.name;
  return three_digits(seconds) + " s";
}

std::string flops_text(double flops) {
  return scaled<6>(flops, 1000, {"FLOP", "kFLOP", "MFLOP", "GFLOP", "TFLOP", "PFLOP"});
}

std::string count_text(double count) { return scaled<5>(count, 1000, {"", "k", "M", "G", "T"}); }

std::string signed_text(double value, std::string (*format)(double)) {
  if (value == 0) return "\u00b10";
  return (value > 0 ? "+" : "\u2212") + format(std::abs(value));
}

std::string share_text(double share) { return fmt::format("{:.1f} %", 100 * share); }

std::string ratio_text(double measured, double predicted) {
  if (predicted == 0) return "";
  const double percent = 100 * (measured / predicted - 1);
  if (std::abs(percent) < 0.05) return "\u00b10 %";
  const std::string number =
      std::abs(percent) < 1e9 ? fmt::format("{:.1f}", std::abs(percent)) : fmt::format("{:.3g}", std::abs(percent));
  return (percent > 0 ? "+" : "\u2212") + number + " %";
}

std::string exact_number(int64_t value) {
  std::string digits = std::to_string(value < 0 ? 0 - static_cast<uint64_t>(value) : static_cast<uint64_t>(value));
  for (int at = static_cast<int>(digits.size()) - 3; at > 0; at -= 3) digits.insert(static_cast<size_t>(at), 1, ',');
  return (value < 0 ? "-" : "") + digits;
}

std::string exact_bytes(double bytes) {
  if (!(std::abs(bytes) < 9e18)) return bytes_text(bytes);
  return exact_number(std::llround(bytes)) + " B";
}

std::pair<std::string, std::string> compared_bytes(double one, double other) {
  std::pair texts(bytes_text(one), bytes_text(other));
  if (texts.first == texts.second) texts = {exact_bytes(one), exact_bytes(other)};
  return texts;
}

}  // namespace shardscope
