#pragma once

#include <string>
#include <vector>

namespace shardscope {

// The marks of an axis at round values, a step of 1, 2 or 5 times a power of ten apart, from `first` to `last()`, which
// enclose the range that was asked for. All are finite.
struct Ticks {
  double first = 0;
  double step = 1;
  int count = 2;
  int decimals = 0;            // digits after the point that tell every mark exactly
  bool is_scientific = false;  // from 1e9: "2.5e+12", with so many digits in all

  double last() const { return first + step * (count - 1); }
  std::string format() const;         // for printf: "%.2f", "%.3g"
  std::string label(int mark) const;  // "0.05"
};

// At most `most` marks (3 or more) for low..high; a range without extent gets some around it. Whatever the numbers are:
// in no order, beyond +-1e300 (which are taken for that), or none. Example: 3472..5100 and 4 marks give 3000, 4000,
// 5000, 6000.
Ticks round_ticks(double low, double high, int most);

// Those between low and high alone, ascending, at most `most`; none where the range is no range. Example: 0.5..4.2 and
// 5 give 1, 2, 3, 4.
std::vector<double> inner_marks(double low, double high, int most);

// Round values of a logarithmic axis between low and high, both above 0: powers of ten; where they are few, also their
// double and fivefold; where those are few, a round step apart. At most `most`, ascending; none where a number is not
// above 0.
std::vector<double> log_marks(double low, double high, int most);

}  // namespace shardscope
