#pragma once

#include <span>
#include <vector>

namespace shardscope {

// A span of time, seconds from the start of the training step.
struct TimelineSlice {
  double start = 0, end = 0;
  int step = -1;  // position in the main sequence
};

// What is drawn of slices in order of start that do not overlap: one of them, or several neighbours folded into one bar
// because they are too narrow to tell apart.
struct TimelineBar {
  double x = 0, width = 0;  // pixels
  int first = 0, last = 0;  // slices
  bool folded() const { return first != last; }
};

// The bars in the window [begin, end] seconds drawn on `pixels`. Found by binary search; slices narrower than
// `least` pixels are folded with those that follow within the same `least` pixels, so the cost is O(pixels log n),
// whatever the number of slices (after Tracy, TimelineItemThread).
std::vector<TimelineBar> visible_bars(std::span<const TimelineSlice> slices, double begin, double end, double pixels,
                                      double least = 3);

}  // namespace shardscope
