#pragma once

#include <string>
#include <vector>

namespace shardscope {

// The marks of an axis at round values, a step of 1, 2 or 5 times a power of ten apart, from `first` to `last()`, which
// enclose the range that was asked for.
struct Ticks {
  double first = 0;
  double step = 1;
  int count = 2;
  int decimals = 0;  // digits after the point that tell every mark exactly

  double last() const { return first + step * (count - 1); }
  std::string label(int mark) const;  // "0.05"
};

// At most `most` marks (3 or more) for low..high; a range without extent gets some around it. Example: 3472..5100 and
// 4 marks give 3000, 4000, 5000, 6000.
Ticks round_ticks(double low, double high, int most);

// Round values of a logarithmic axis between low and high, both above 0: powers of ten; where they are few, also their
// double and fivefold; where those are few, a round step apart. At most `most`, ascending.
std::vector<double> log_marks(double low, double high, int most);

}  // namespace shardscope
