#pragma once

#include <cstdint>
#include <vector>

#include "engine/base/shape.h"

namespace shardscope {

// Copies an array from one order of its dimensions to another. Dimensions are factors: a dimension made of several
// (heads and their size) is given as those, major to minor, so that reshapes, transposes, split and merged heads are
// one thing. Example: (b, s, (h d)) -> (b, h, s, d) is sizes {b, s, h, d}, source {0, 1, 2, 3}, destination {0, 2, 1,
// 3}.
class Rearrangement {
 public:
  // `sizes` of the factors; `source` and `destination` list them, major to minor. Throws Failure (code rearrange) where
  // they do not list the same factors once each.
  Rearrangement(const Shape& sizes, const std::vector<int>& source, const std::vector<int>& destination,
                int64_t element_bytes);

  // Arrays are contiguous and apart.
  void run(const void* from, void* to, int threads) const;

 private:
  struct Dimension {
    int64_t size;
    int64_t stride;  // of the source, in elements
  };

  template <class Element>
  void copy(const Element* from, Element* to, int threads) const;

  std::vector<Dimension> outer_;  // in the order of the destination
  Dimension inner_{1, 1};         // its last dimension
  int64_t rows_ = 1;              // product of the outer sizes
  int64_t element_bytes_;
};

}  // namespace shardscope
