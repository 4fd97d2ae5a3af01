#include "viz/paint/timeline_geometry.h"

#include <algorithm>

namespace shardscope {

std::vector<TimelineBar> visible_bars(std::span<const TimelineSlice> slices, double begin, double end, double pixels,
                                      double least) {
  std::vector<TimelineBar> bars;
  if (!(end > begin) || pixels <= 0) return bars;
  const double scale = pixels / (end - begin);
  auto slice = std::ranges::lower_bound(slices, begin, {}, &TimelineSlice::end);
  while (slice != slices.end() && slice->start < end) {
    TimelineBar bar;
    bar.first = bar.last = static_cast<int>(slice - slices.begin());
    double stop = slice->end;
    if ((slice->end - slice->start) * scale < least) {
      const double reach = slice->start + least / scale;
      auto next = std::ranges::lower_bound(slice, slices.end(), reach, {}, &TimelineSlice::end);
      if (next != slice) {
        bar.last = static_cast<int>(next - slices.begin()) - 1;
        stop = slices[bar.last].end;
      }
    }
    bar.x = (std::max(slice->start, begin) - begin) * scale;
    bar.width = (std::min(stop, end) - begin) * scale - bar.x;
    bars.push_back(bar);
    slice = slices.begin() + bar.last + 1;
  }
  return bars;
}

}  // namespace shardscope
