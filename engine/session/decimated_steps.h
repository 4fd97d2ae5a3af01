#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "engine/session/messages.h"

namespace shardscope {

// A bounded choice of a run's steps, without their ranks, from which its curves can be drawn: the run is cut into at
// most `most_buckets` chunks of equal length, and of each the steps are kept that hold the lowest or highest value
// of the time or of any metric in it, or one that is no number. So no peak is lost, and what is shown was measured.
class DecimatedSteps {
 public:
  static constexpr size_t most_buckets = 256;

  // In any order; a step that is reported again replaces what was reported of it.
  void add(const StepMessage& step);
  void erase_from(int64_t step);           // it and those after it
  std::vector<StepMessage> steps() const;  // ascending
  bool empty() const { return buckets_.empty(); }

 private:
  using Bucket = std::map<int64_t, StepMessage>;

  std::map<int64_t, Bucket> buckets_;  // by step / width
  int64_t width_ = 1;
};

}  // namespace shardscope
