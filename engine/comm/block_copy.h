#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "engine/comm/collective_call.h"

namespace shardscope {

// Each of these returns the bytes that it has read: a sum of three arrays of n bytes reads 3 n. A transport adds them
// to its moved bytes (see CommunicationRecord).

// Contiguous bytes, none or more.
[[nodiscard]] int64_t copy_bytes(std::byte* destination, const std::byte* source, int64_t bytes);

// Copies the outer x rows runs of a part's piece from one place to another, each with its own strides (bytes).
[[nodiscard]] int64_t copy_runs(const CallPart& part, std::byte* destination, Stride destination_stride,
                                const std::byte* source, Stride source_stride);

// The same of the piece that member `sender` has at `source`, to where the destination has it; of counted rows no
// others, which stay.
[[nodiscard]] int64_t copy_piece(const CallPart& part, int sender, const std::byte* source);

// The pieces of several arrays as they are in one message, contiguous, of counted rows these alone: their bytes, on
// both sides the same; filled from the sources, for a member; taken from it to the destinations.
int64_t sent_bytes(std::span<const CallPart> parts, int receiver);
int64_t received_bytes(std::span<const CallPart> parts, int sender);
[[nodiscard]] int64_t pack_pieces(std::span<const CallPart> parts, int receiver, std::byte* message);
[[nodiscard]] int64_t unpack_pieces(std::span<const CallPart> parts, int sender, const std::byte* message);

// destination[i] = ((sources[0][i] + sources[1][i]) + sources[2][i]) + ... for each i < count, in one pass over memory;
// or their maximum. The destination may be one of the sources. Sums of bf16 are taken in f32 and rounded once.
[[nodiscard]] int64_t ordered_reduce(Reduction reduction, DType dtype, std::byte* destination,
                                     std::span<const std::byte* const> sources, int64_t count);

// ordered_reduce over the runs of a part's piece; sources[i] is where member i's piece begins.
[[nodiscard]] int64_t ordered_reduce_runs(Reduction reduction, DType dtype, const CallPart& part,
                                          std::byte* destination, Stride destination_stride,
                                          std::span<const std::byte* const> sources, Stride source_stride);

// The same in two stages: ordered_partial of some sources, then combine_partials of several such, in order. Partial
// sums of bf16 are f32, so that they are rounded once.
DType partial_dtype(Reduction reduction, DType dtype);
[[nodiscard]] int64_t ordered_partial(Reduction reduction, DType dtype, std::byte* partial,
                                      std::span<const std::byte* const> sources, int64_t count);
[[nodiscard]] int64_t combine_partials(Reduction reduction, DType dtype, std::byte* destination,
                                       std::span<const std::byte* const> partials, int64_t count);

// Elements [first, last) of an array of `count` elements that member `index` of `size` sums in an all-reduce: whole
// cache lines. Which member owns which chunk has no influence on the sums.
struct Chunk {
  int64_t first = 0;
  int64_t last = 0;
};
Chunk chunk(int64_t count, int index, int size);

}  // namespace shardscope
