#pragma once

#include <algorithm>

#include "engine/base/shape.h"
#include "engine/mesh/sharding.h"

namespace shardscope {

// Calls visit(box) for some rows of an array at a time: at most 16 MiB, but a row at least.
template <class Visit>
void for_each_chunk(const TensorType& type, Visit&& visit) {
  constexpr int64_t chunk_bytes = int64_t{16} << 20;
  Box box{Shape(type.shape.size()), type.shape};
  if (type.shape.empty() || type.bytes() == 0) return visit(box);
  const int64_t rows = type.shape[0], row_bytes = type.bytes() / rows;
  const int64_t step = std::clamp(chunk_bytes / row_bytes, int64_t{1}, rows);
  for (int64_t row = 0; row < rows; row += step) {
    box.start[0] = row;
    box.size[0] = std::min(step, rows - row);
    visit(box);
  }
}

}  // namespace shardscope
