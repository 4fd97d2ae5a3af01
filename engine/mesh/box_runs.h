#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/base/shape.h"
#include "engine/mesh/sharding.h"

namespace shardscope {

// The elements of a box of a row-major array as contiguous runs of equal length.
//
// Example: rows 2..3, columns 8..15 of a (4, 16) array are two runs of 8 elements, at offsets 40 and 56; rows 2..3,
// all columns, are one run of 32 elements at offset 32.
class BoxRuns {
 public:
  BoxRuns(const Shape& shape, const Box& box);

  int64_t run_count() const { return run_count_; }
  int64_t run_length() const { return run_length_; }  // elements

  // Calls visit(offset in the array, offset in the box) for each run, both ascending, in elements.
  template <class Visit>
  void for_each(Visit&& visit) const {
    for (int64_t run = 0; run < run_count_; ++run) visit(array_offset(run), run * run_length_);
  }

 private:
  struct Dim {
    int64_t count, stride;  // stride in the array
  };

  int64_t array_offset(int64_t run) const;

  std::vector<Dim> outer_;  // major first
  int64_t first_ = 0;
  int64_t run_count_ = 1;
  int64_t run_length_ = 1;
};

// The part of `box` as the box of an array that is itself `of` the same whole array.
Box relative_box(const Box& box, const Box& of);
bool contains(const Box& outer, const Box& inner);

}  // namespace shardscope
