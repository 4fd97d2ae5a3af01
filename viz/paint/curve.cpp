#include "viz/paint/curve.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <limits>

namespace shardscope {

bool is_drawn(double value) { return std::abs(value) <= std::numeric_limits<float>::max(); }

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

std::vector<CurvePoint> smoothed(std::span<const CurvePoint> points, double weight) {
  std::vector<CurvePoint> curve(points.begin(), points.end());
  double sum = 0, count = 0;
  for (size_t i = 0; i < curve.size(); ++i) {
    const double kept = i == 0 ? 0 : std::pow(weight, points[i].x - points[i - 1].x);
    sum = kept * sum + points[i].y;
    count = kept * count + 1;
    curve[i].y = sum / count;
  }
  return curve;
}

bool first_flattens(std::span<const CurvePoint> points) {
  if (points.size() < 3) return false;
  return points.front().y > 2 * std::ranges::max(points.subspan(1), {}, &CurvePoint::y).y;
}

const CurvePoint* nearest_point(std::span<const CurvePoint> points, double x) {
  const auto behind = std::ranges::lower_bound(points, x, {}, &CurvePoint::x);
  if (behind == points.end()) return points.empty() ? nullptr : &points.back();
  if (behind == points.begin() || behind->x - x < x - std::prev(behind)->x) return &*behind;
  return &*std::prev(behind);
}

}  // namespace shardscope
