#pragma once

#include <span>

#include "engine/base/shape.h"
#include "engine/mesh/sharding.h"

namespace shardscope {

// Whether boxes that lie inside an array of this shape hold each of its elements exactly once: none is missing, none is
// in two. Of an array without elements every box is empty. Linear in the boxes, whose order means nothing.
//
// Every element gets a random weight, the product of one random number for each of its coordinates; the boxes' weights
// must sum to the array's. The weight of a box is a product over the dimensions of P(end) - P(start), where P sums the
// numbers up to a coordinate, and so is random itself: elements are never visited. A wrong cover passes where a
// polynomial of a degree of at most Shape::max_rank that is not zero has a root at random numbers modulo 2^61 - 1: with
// a probability of 3e-18 (Schwartz-Zippel). The numbers are drawn anew in each process.
//
// Example: (2, 2) as rows {0}, {0}: the sum lacks the weights of row 1 and has those of row 0 twice.
bool covers_once(std::span<const Box* const> boxes, const Shape& shape);

}  // namespace shardscope
