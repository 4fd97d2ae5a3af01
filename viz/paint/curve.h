#pragma once

#include <span>
#include <vector>

namespace shardscope {

// Whether a value is drawn: it is finite, and no larger than any number of a run can be (f32), so that scales and
// pixels of it are numbers, too.
bool is_drawn(double value);

struct CurvePoint {
  double x = 0, y = 0;
  bool operator==(const CurvePoint&) const = default;
};

// A curve for `buckets` pixels: per bucket of x its first, lowest, highest and last point, so that no peak is lost.
// Points ascend in x; a curve that has at most 4 * buckets points comes back as it is.
std::vector<CurvePoint> decimate(std::span<const CurvePoint> points, int buckets);

// The exponential moving average of a curve, without the pull of its beginning, as TensorBoard draws it: a point counts
// `weight` less for each unit of x that it is back. 0: as it is; 1 is not allowed.
std::vector<CurvePoint> smoothed(std::span<const CurvePoint> points, double weight);

// Whether the first of a curve's points flattens the rest: it is more than twice as high as all others, and they are at
// least two. So the first step, which warms up, is left out of a scale.
bool first_flattens(std::span<const CurvePoint> points);

// The point nearest to x; nothing without points. They ascend in x.
const CurvePoint* nearest_point(std::span<const CurvePoint> points, double x);

}  // namespace shardscope
