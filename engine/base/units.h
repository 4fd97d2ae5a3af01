#pragma once

#include <cstdint>
#include <string>
#include <utility>

namespace shardscope {

// Quantities as a person reads them: three significant digits and a unit. Exact values come from exact_bytes and
// exact_number.
std::string bytes_text(double bytes);  // "12.3 MiB", binary units
// "3.11 ns", "35.0 us" (with the micro sign), "240 ms", "1.92 s", "12.5 min", "5.1 days"
std::string seconds_text(double seconds);
std::string flops_text(double flops);                                  // "12.3 GFLOP", decimal units
std::string count_text(double count);                                  // "12.3 M", decimal units
std::string signed_text(double value, std::string (*format)(double));  // with "+" or a minus sign
std::string share_text(double share);                                  // "12.3 %"
std::string ratio_text(double measured, double predicted);             // "+3.2 %"; "" when predicted is 0

// The unit in which bytes_text writes so many bytes.
struct ByteUnit {
  double bytes = 1;
  std::string name;  // "MiB"
};
ByteUnit byte_unit(double bytes);

std::string exact_number(int64_t value);  // "1,234,567"
std::string exact_bytes(double bytes);    // "1,234,567 B"
// Two sizes to compare: by bytes_text where that tells them apart, else exactly.
std::pair<std::string, std::string> compared_bytes(double one, double other);

}  // namespace shardscope
