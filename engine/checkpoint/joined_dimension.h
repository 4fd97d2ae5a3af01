#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "engine/checkpoint/checkpoint_reader.h"

namespace shardscope {

// Two dimensions of a state that a checkpoint holds as one, as former versions of its model had it: the elements are
// the same in the same order. The first of the two, where `held` is `wanted` with them joined.
//
// Example: held (8, 56, 16), wanted (8, 2, 28, 16): 1.
std::optional<size_t> joined_dimension(const Shape& held, const Shape& wanted);

// A box of an array of shape `wanted`, in one that has dimensions `at` and `at` + 1 joined: as boxes alike in size,
// whose elements follow each other in row-major order of the box.
std::vector<Box> joined_boxes(const Shape& wanted, const Box& box, size_t at);

// What reads a box of a state of shape `wanted` from a checkpoint that holds it so or joined. `out`: row-major.
std::vector<CheckpointReader::Request> read_requests(const CheckpointState& held, const Shape& wanted, const Box& box,
                                                     std::span<std::byte> out);

}  // namespace shardscope
