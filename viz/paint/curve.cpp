#include "viz/paint/curve.h"

#include <algorithm>
#include <array>

namespace shardscope {

std::vector<CurvePoint> decimate(std::span<const CurvePoint> points, int buckets) {
  if (points.size() <= 4 * static_cast<size_t>(buckets)) return {points.begin(), points.end()};
  std::vector<CurvePoint> kept;
  const double left = points.front().x, span = points.back().x - left;
  for (size_t begin = 0; begin < points.size();) {
    const auto bucket_of = [&](double x) {
      return span > 0 ? std::min(buckets - 1, int((x - left) / span * buckets)) : 0;
    };
    const int bucket = bucket_of(points[begin].x);
    size_t end = begin, low = begin, high = begin;
    while (end < points.size() && bucket_of(points[end].x) == bucket) {
      if (points[end].y < points[low].y) low = end;
      if (points[end].y > points[high].y) high = end;
      ++end;
    }
    std::array<size_t, 4> marks{begin, low, high, end - 1};
    std::ranges::sort(marks);
    for (size_t i = 0; i < marks.size(); ++i)
      if (i == 0 || marks[i] != marks[i - 1]) kept.push_back(points[marks[i]]);
    begin = end;
  }
  return kept;
}

}  // namespace shardscope
