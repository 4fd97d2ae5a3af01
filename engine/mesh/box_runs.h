#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
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

  // Offset in the array of an element of the box.
  int64_t offset_of(int64_t element) const { return array_offset(element / run_length_) + element % run_length_; }

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
// What two boxes of one array have in common; nothing where that is no element.
std::optional<Box> intersection(const Box& a, const Box& b);

// `common` is in the boxes `a` and `b` of one array, each of which is stored row-major by itself: visit(offset in a,
// offset in b, length) for each run that is contiguous in both, ascending, in elements.
template <class Visit>
void for_each_common_run(const Box& a, const Box& b, const Box& common, Visit&& visit) {
  const BoxRuns in_a(a.size, relative_box(common, a)), in_b(b.size, relative_box(common, b));
  // Each length is the product of the last sizes of `common`, so the smaller one divides the other.
  const int64_t length = std::min(in_a.run_length(), in_b.run_length());
  for (int64_t element = 0; element < element_count(common.size); element += length) {
    visit(in_a.offset_of(element), in_b.offset_of(element), length);
  }
}

}  // namespace shardscope
