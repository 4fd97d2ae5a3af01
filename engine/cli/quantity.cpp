#include "engine/cli/quantity.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <span>

#include "engine/base/error.h"

namespace shardscope {

namespace {

struct Unit {
  const char* name;  // in lower case
  double factor;
};

constexpr Unit count_units[] = {{"", 1}, {"k", 1e3}, {"m", 1e6}, {"b", 1e9}, {"t", 1e12}};
constexpr double kibi = 1024;
constexpr Unit byte_units[] = {{"b", 1},
                               {"kb", 1e3},
                               {"mb", 1e6},
                               {"gb", 1e9},
                               {"tb", 1e12},
                               {"kib", kibi},
                               {"mib", kibi* kibi},
                               {"gib", kibi* kibi* kibi},
                               {"tib", kibi* kibi* kibi* kibi}};

std::optional<double> quantity(const std::string& text, std::span<const Unit> units) {
  double number = 0;
  const char* end = text.data() + text.size();
  const auto [stop, fault] = std::from_chars(text.data(), end, number);
  if (fault != std::errc{} || !std::isfinite(number)) return std::nullopt;
  std::string unit(std::find_if(stop, end, [](char c) { return c != ' '; }), end);
  std::ranges::transform(unit, unit.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? char(c - 'A' + 'a') : c; });
  for (const Unit& known : units) {
    if (unit == known.name) return number * known.factor;
  }
  return std::nullopt;
}

double required(std::optional<double> value, const std::string& text, const char* what, const char* argument,
                const char* hint) {
  if (value && *value >= 1 && *value <= 1e18) return *value;
  throw Failure(Error{"bad_argument", "'" + text + "' is no " + what, at_argument(argument), hint});
}

}  // namespace

double count_argument(const std::string& text, const char* argument) {
  return required(quantity(text, count_units), text, "number of parameters", argument,
                  "a number from 1 to 1e18 such as 175e9, 175B (billions) or 350M");
}

double bytes_argument(const std::string& text, const char* argument) {
  return required(quantity(text, byte_units), text, "size of memory", argument,
                  "a number with its unit such as 40GB (40e9 bytes), 40GiB or 512MiB");
}

}  // namespace shardscope
