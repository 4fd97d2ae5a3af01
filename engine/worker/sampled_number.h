#pragma once

#include <cstdint>

namespace shardscope {

// A number of this process, measured rarely enough to cost less than a thousandth of the time: the first two times it
// is asked for, then after `least_interval_ns`, or a thousand times what the last measurement took.
class SampledNumber {
 public:
  SampledNumber(int64_t (*measure)(), int64_t least_interval_ns)
      : measure_(measure), least_interval_ns_(least_interval_ns) {}

  int64_t value();

 private:
  int64_t (*measure_)();
  int64_t least_interval_ns_;
  int measured_ = 0;  // how often
  int64_t due_ns_ = 0;
  int64_t value_ = 0;
};

}  // namespace shardscope
