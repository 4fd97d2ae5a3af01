#pragma once

#include <span>
#include <vector>

namespace shardscope {

struct CurvePoint {
  double x = 0, y = 0;
  bool operator==(const CurvePoint&) const = default;
};

// A curve for `buckets` pixels: per bucket of x its first, lowest, highest and last point, so that no peak is lost.
// Points ascend in x; a curve that has at most 4 * buckets points comes back as it is.
std::vector<CurvePoint> decimate(std::span<const CurvePoint> points, int buckets);

}  // namespace shardscope
