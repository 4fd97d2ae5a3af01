#include "engine/comm/block_copy.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>
#include <vector>

#include "engine/base/bfloat16.h"
#include "engine/base/vector_clones.h"

namespace shardscope {

namespace {

template <size_t bytes>
void copy_short_runs(std::byte* destination, int64_t destination_stride, const std::byte* source, int64_t source_stride,
                     int64_t rows) {
  for (int64_t i = 0; i < rows; ++i) {
    std::memcpy(destination + i * destination_stride, source + i * source_stride, bytes);
  }
}

void copy_rows(std::byte* destination, int64_t destination_stride, const std::byte* source, int64_t source_stride,
               int64_t rows, int64_t run) {
  switch (run) {
    case 2: return copy_short_runs<2>(destination, destination_stride, source, source_stride, rows);
    case 4: return copy_short_runs<4>(destination, destination_stride, source, source_stride, rows);
    case 8: return copy_short_runs<8>(destination, destination_stride, source, source_stride, rows);
    case 16: return copy_short_runs<16>(destination, destination_stride, source, source_stride, rows);
    case 32: return copy_short_runs<32>(destination, destination_stride, source, source_stride, rows);
    case 64: return copy_short_runs<64>(destination, destination_stride, source, source_stride, rows);
    default: break;
  }
  for (int64_t i = 0; i < rows; ++i) {
    std::memcpy(destination + i * destination_stride, source + i * source_stride, static_cast<size_t>(run));
  }
}

constexpr int64_t block = 512;  // floats: 2 KiB of sums, which stay in the first-level cache
constexpr int64_t line = 16;    // elements

using Line [[gnu::vector_size(64), gnu::aligned(4), gnu::may_alias]] = float;

const Line& line_at(const float* values, int64_t i) { return *reinterpret_cast<const Line*>(values + i); }

SHARDSCOPE_VECTOR_CLONES
void add(float* sum, const float* a, int64_t count) {
  int64_t i = 0;
  for (; i + line <= count; i += line) *reinterpret_cast<Line*>(sum + i) += line_at(a, i);
  for (; i < count; ++i) sum[i] += a[i];
}

// sum[i] = ((sum[i] + a[i]) + b[i]) + c[i]
SHARDSCOPE_VECTOR_CLONES
void add(float* sum, const float* a, const float* b, const float* c, int64_t count) {
  int64_t i = 0;
  for (; i + line <= count; i += line) {
    *reinterpret_cast<Line*>(sum + i) = ((line_at(sum, i) + line_at(a, i)) + line_at(b, i)) + line_at(c, i);
  }
  for (; i < count; ++i) sum[i] = ((sum[i] + a[i]) + b[i]) + c[i];
}

void sum_block(float* sum, std::span<const float* const> sources, int64_t offset, int64_t count) {
  std::memcpy(sum, sources[0] + offset, static_cast<size_t>(count) * sizeof(float));
  size_t next = 1;
  for (; next + 3 <= sources.size(); next += 3) {
    add(sum, sources[next] + offset, sources[next + 1] + offset, sources[next + 2] + offset, count);
  }
  for (; next < sources.size(); ++next) add(sum, sources[next] + offset, count);
}

}  // namespace

int64_t copy_bytes(std::byte* destination, const std::byte* source, int64_t bytes) {
  if (bytes > 0) std::memcpy(destination, source, static_cast<size_t>(bytes));
  return bytes;
}

int64_t copy_runs(const CallPart& part, std::byte* destination, Stride destination_stride, const std::byte* source,
                  Stride source_stride) {
  if (part.piece_bytes() == 0) return 0;
  for (int64_t i = 0; i < part.outer; ++i) {
    copy_rows(destination + i * destination_stride.outer, destination_stride.row, source + i * source_stride.outer,
              source_stride.row, part.rows, part.run);
  }
  return part.piece_bytes();
}

namespace {

// visit(offset in the array, row, offset in the row, bytes) for each block of counted rows of the piece at `first`.
template <class Visit>
void visit_counted_rows(const CallPart& part, const int32_t* counted, int64_t first, int64_t stride,
                        const Visit& visit) {
  for (int64_t row = 0; row < part.rows && part.block_bytes > 0; ++row) {
    for (int64_t block = 0; block < part.run; block += part.block_bytes) {
      const int64_t offset = first + row * stride + block;
      const int32_t* counts = counted + offset / part.block_bytes * part.row_groups;
      const int64_t rows = std::accumulate(counts, counts + part.row_groups, int64_t{0});
      visit(offset, row, block, std::clamp<int64_t>(rows * part.row_bytes, 0, part.block_bytes));
    }
  }
}

template <class Visit>
void visit_sent_rows(const CallPart& part, int receiver, const Visit& visit) {
  visit_counted_rows(part, part.sent_rows, receiver * part.source_block, part.source_stride.row, visit);
}

template <class Visit>
void visit_received_rows(const CallPart& part, int sender, const Visit& visit) {
  visit_counted_rows(part, part.received_rows, sender * part.destination_block, part.destination_stride.row, visit);
}

}  // namespace

int64_t copy_piece(const CallPart& part, int sender, const std::byte* source) {
  if (!part.received_rows)
    return copy_runs(part, part.destination + sender * part.destination_block, part.destination_stride, source,
                     part.source_stride);
  int64_t moved = 0;
  visit_received_rows(part, sender, [&](int64_t to, int64_t row, int64_t block, int64_t bytes) {
    moved += copy_bytes(part.destination + to, source + row * part.source_stride.row + block, bytes);
  });
  return moved;
}

int64_t sent_bytes(std::span<const CallPart> parts, int receiver) {
  int64_t sum = 0;
  for (const CallPart& part : parts) {
    if (!part.sent_rows) sum += part.piece_bytes();
    else visit_sent_rows(part, receiver, [&](int64_t, int64_t, int64_t, int64_t bytes) { sum += bytes; });
  }
  return sum;
}

int64_t received_bytes(std::span<const CallPart> parts, int sender) {
  int64_t sum = 0;
  for (const CallPart& part : parts) {
    if (!part.received_rows) sum += part.piece_bytes();
    else visit_received_rows(part, sender, [&](int64_t, int64_t, int64_t, int64_t bytes) { sum += bytes; });
  }
  return sum;
}

int64_t pack_pieces(std::span<const CallPart> parts, int receiver, std::byte* message) {
  int64_t moved = 0;
  for (const CallPart& part : parts) {
    if (!part.sent_rows) {
      moved += copy_runs(part, message + moved, part.packed(), part.source + receiver * part.source_block,
                         part.source_stride);
      continue;
    }
    visit_sent_rows(part, receiver, [&](int64_t from, int64_t, int64_t, int64_t bytes) {
      moved += copy_bytes(message + moved, part.source + from, bytes);
    });
  }
  return moved;
}

int64_t unpack_pieces(std::span<const CallPart> parts, int sender, const std::byte* message) {
  int64_t moved = 0;
  for (const CallPart& part : parts) {
    if (!part.received_rows) {
      moved += copy_runs(part, part.destination + sender * part.destination_block, part.destination_stride,
                         message + moved, part.packed());
      continue;
    }
    visit_received_rows(part, sender, [&](int64_t to, int64_t, int64_t, int64_t bytes) {
      moved += copy_bytes(part.destination + to, message + moved, bytes);
    });
  }
  return moved;
}

namespace {

void ordered_sum(float* destination, std::span<const float* const> sources, int64_t count) {
  alignas(64) std::array<float, block> sum;
  int64_t i = 0;
  for (; i + block <= count; i += block) {
    sum_block(sum.data(), sources, i, block);
    std::memcpy(destination + i, sum.data(), sizeof(sum));
  }
  if (i == count) return;
  sum_block(sum.data(), sources, i, count - i);
  std::memcpy(destination + i, sum.data(), static_cast<size_t>(count - i) * sizeof(float));
}

template <class T>
void ordered_max(T* destination, std::span<const std::byte* const> sources, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    T top = reinterpret_cast<const T*>(sources[0])[i];
    for (size_t s = 1; s < sources.size(); ++s) {
      const T value = reinterpret_cast<const T*>(sources[s])[i];
      if (value > top || value != value) top = value;  // NaN wins, as in jnp.max
    }
    destination[i] = top;
  }
}

float as_float(float value) { return value; }
float as_float(BFloat16 value) { return to_float(value); }
void assign(float& to, float value) { to = value; }
void assign(BFloat16& to, float value) { to = to_bfloat16(value); }

// Sums in f32 of values of one type, stored as another.
template <class To, class From>
void ordered_sum_as(std::byte* destination, std::span<const std::byte* const> sources, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    float sum = as_float(reinterpret_cast<const From*>(sources[0])[i]);
    for (size_t s = 1; s < sources.size(); ++s) sum += as_float(reinterpret_cast<const From*>(sources[s])[i]);
    assign(reinterpret_cast<To*>(destination)[i], sum);
  }
}

bool widens(Reduction reduction, DType dtype) { return reduction == Reduction::sum && dtype == DType::bf16; }

int64_t bytes_read(std::span<const std::byte* const> sources, int64_t count, DType dtype) {
  return std::ssize(sources) * count * byte_size(dtype);
}

void reduce(Reduction reduction, DType dtype, std::byte* destination, std::span<const std::byte* const> sources,
            int64_t count) {
  if (reduction == Reduction::max) {
    if (dtype == DType::i32) return ordered_max(reinterpret_cast<int32_t*>(destination), sources, count);
    return ordered_max(reinterpret_cast<float*>(destination), sources, count);
  }
  if (dtype == DType::bf16) return ordered_sum_as<BFloat16, BFloat16>(destination, sources, count);
  thread_local std::vector<const float*> summands;
  summands.resize(sources.size());
  for (size_t s = 0; s < sources.size(); ++s) summands[s] = reinterpret_cast<const float*>(sources[s]);
  ordered_sum(reinterpret_cast<float*>(destination), summands, count);
}

}  // namespace

int64_t ordered_reduce(Reduction reduction, DType dtype, std::byte* destination,
                       std::span<const std::byte* const> sources, int64_t count) {
  reduce(reduction, dtype, destination, sources, count);
  return bytes_read(sources, count, dtype);
}

DType partial_dtype(Reduction reduction, DType dtype) { return widens(reduction, dtype) ? DType::f32 : dtype; }

int64_t ordered_partial(Reduction reduction, DType dtype, std::byte* partial, std::span<const std::byte* const> sources,
                        int64_t count) {
  if (widens(reduction, dtype)) ordered_sum_as<float, BFloat16>(partial, sources, count);
  else reduce(reduction, dtype, partial, sources, count);
  return bytes_read(sources, count, dtype);
}

int64_t combine_partials(Reduction reduction, DType dtype, std::byte* destination,
                         std::span<const std::byte* const> partials, int64_t count) {
  if (widens(reduction, dtype)) ordered_sum_as<BFloat16, float>(destination, partials, count);
  else reduce(reduction, dtype, destination, partials, count);
  return bytes_read(partials, count, partial_dtype(reduction, dtype));
}

int64_t ordered_reduce_runs(Reduction reduction, DType dtype, const CallPart& part, std::byte* destination,
                            Stride destination_stride, std::span<const std::byte* const> sources,
                            Stride source_stride) {
  if (part.piece_bytes() == 0) return 0;
  int64_t read = 0;
  thread_local std::vector<const std::byte*> rows;
  rows.resize(sources.size());
  for (int64_t i = 0; i < part.outer; ++i) {
    for (int64_t j = 0; j < part.rows; ++j) {
      int64_t offset = i * source_stride.outer + j * source_stride.row;
      for (size_t s = 0; s < sources.size(); ++s) rows[s] = sources[s] + offset;
      read += ordered_reduce(reduction, dtype, destination + i * destination_stride.outer + j * destination_stride.row,
                             rows, part.run / byte_size(dtype));
    }
  }
  return read;
}

Chunk chunk(int64_t count, int index, int size) {
  int64_t lines = (count + line - 1) / line;
  int64_t each = (lines + size - 1) / size * line;
  return {std::min(count, index * each), std::min(count, (index + 1) * each)};
}

}  // namespace shardscope
