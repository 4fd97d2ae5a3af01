#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "engine/comm/collective_call.h"

namespace shardscope {

// Copies the outer x rows runs of a part's piece from one place to another, each with its own strides (bytes).
void copy_runs(const CallPart& part, std::byte* destination, Stride destination_stride, const std::byte* source,
               Stride source_stride);

// destination[i] = ((sources[0][i] + sources[1][i]) + sources[2][i]) + ... for each i < count, in one pass over memory;
// or their maximum. The destination may be one of the sources. Sums of bf16 are taken in f32 and rounded once.
void ordered_reduce(Reduction reduction, DType dtype, std::byte* destination, std::span<const std::byte* const> sources,
                    int64_t count);

// ordered_reduce over the runs of a part's piece; sources[i] is where member i's piece begins.
void ordered_reduce_runs(Reduction reduction, DType dtype, const CallPart& part, std::byte* destination,
                         Stride destination_stride, std::span<const std::byte* const> sources, Stride source_stride);

// The same in two stages: ordered_partial of some sources, then combine_partials of several such, in order. Partial
// sums of bf16 are f32, so that they are rounded once.
DType partial_dtype(Reduction reduction, DType dtype);
void ordered_partial(Reduction reduction, DType dtype, std::byte* partial, std::span<const std::byte* const> sources,
                     int64_t count);
void combine_partials(Reduction reduction, DType dtype, std::byte* destination,
                      std::span<const std::byte* const> partials, int64_t count);

// Elements [first, last) of an array of `count` elements that member `index` of `size` sums in an all-reduce: whole
// cache lines. Which member owns which chunk has no influence on the sums.
struct Chunk {
  int64_t first = 0;
  int64_t last = 0;
};
Chunk chunk(int64_t count, int index, int size);

}  // namespace shardscope
