#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "engine/checkpoint/checkpoint_reader.h"

namespace shardscope {

// Two dimensions of an array that a file or a checkpoint holds as one, as it is published, or as former versions of its
// model had it: the elements are the same in the same order. The first of the two, where `held` is `wanted` with them
// joined.
//
// Example: held (8, 56, 16), wanted (8, 2, 28, 16): 1.
std::optional<size_t> joined_dimension(const Shape& held, const Shape& wanted);
// Of an array whose dimensions `at` and `at` + 1 are one.
Shape with_joined(Shape shape, size_t at);
// The same shape, or so.
bool has_same_elements(const Shape& held, const Shape& wanted);

// A box of an array of shape `wanted`, in one that has dimensions `at` and `at` + 1 joined: as boxes whose elements
// follow each other in row-major order of the box.
std::vector<Box> joined_boxes(const Shape& wanted, const Box& box, size_t at);
// A box of the joined one, in an array of shape `wanted`, likewise.
std::vector<Box> divided_boxes(const Shape& wanted, const Box& box, size_t at);

// What reads boxes of a state one behind the other.
std::vector<CheckpointReader::Request> requests_of(const CheckpointState& held, const std::vector<Box>& boxes,
                                                   std::span<std::byte> out);
// What reads a box of a state of shape `wanted` from a checkpoint that holds it so or joined. `out`: row-major.
std::vector<CheckpointReader::Request> read_requests(const CheckpointState& held, const Shape& wanted, const Box& box,
                                                     std::span<std::byte> out);

}  // namespace shardscope
