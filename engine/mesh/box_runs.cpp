#include "engine/mesh/box_runs.h"

namespace shardscope {

BoxRuns::BoxRuns(const Shape& shape, const Box& box) {
  int dim = static_cast<int>(shape.size()) - 1;
  int64_t stride = 1;
  bool whole = true;  // all later dimensions are
  for (; dim >= 0 && whole; --dim) {
    run_length_ *= box.size[dim];
    first_ += box.start[dim] * stride;
    whole = box.size[dim] == shape[dim];
    stride *= shape[dim];
  }
  for (; dim >= 0; --dim) {
    outer_.insert(outer_.begin(), {box.size[dim], stride});
    first_ += box.start[dim] * stride;
    run_count_ *= box.size[dim];
    stride *= shape[dim];
  }
  if (run_length_ == 0) run_count_ = 0;
}

int64_t BoxRuns::array_offset(int64_t run) const {
  int64_t offset = first_;
  for (size_t i = outer_.size(); i-- > 0;) {
    offset += run % outer_[i].count * outer_[i].stride;
    run /= outer_[i].count;
  }
  return offset;
}

Box relative_box(const Box& box, const Box& of) {
  Box relative = box;
  for (size_t dim = 0; dim < box.start.size(); ++dim) relative.start[dim] -= of.start[dim];
  return relative;
}

bool contains(const Box& outer, const Box& inner) {
  for (size_t dim = 0; dim < outer.start.size(); ++dim) {
    if (inner.start[dim] < outer.start[dim]) return false;
    if (inner.start[dim] + inner.size[dim] > outer.start[dim] + outer.size[dim]) return false;
  }
  return true;
}

std::optional<Box> intersection(const Box& a, const Box& b) {
  Box common = a;
  for (size_t dim = 0; dim < a.start.size(); ++dim) {
    common.start[dim] = std::max(a.start[dim], b.start[dim]);
    common.size[dim] = std::min(a.start[dim] + a.size[dim], b.start[dim] + b.size[dim]) - common.start[dim];
    if (common.size[dim] <= 0) return std::nullopt;
  }
  return common;
}

}  // namespace shardscope
