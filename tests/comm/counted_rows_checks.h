#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <vector>

#include "engine/comm/communicator.h"
#include "tests/comm/moved_bytes.h"

namespace shardscope::checks {

// All-to-alls of counted rows: what arrives, and that no others move.
namespace counted {

inline constexpr int64_t rows = 60, width = 24, groups = 3;
inline constexpr float untouched = -1;

// How many rows of block (i, j) of the whole array are counted in a group, and what element is there.
inline int32_t count_of(int64_t i, int64_t j, int64_t group) {
  return static_cast<int32_t>((5 * i + 7 * j + 3 * group) % 12);
}
inline float element_of(int64_t i, int64_t j, int64_t at) {
  return static_cast<float>(10000 * i + 1000 * j + at % 1000);
}
inline int64_t rows_of(int64_t i, int64_t j) {
  int64_t sum = 0;
  for (int64_t g = 0; g < groups; ++g) sum += count_of(i, j, g);
  return sum;
}

struct Blocks {
  int64_t first_row, rows, first_column, columns;  // of (i, j) that a rank has
};

// An array of blocks, and the counts of each.
struct Part {
  float* elements;
  std::vector<int32_t> counts;

  Part(const Blocks& blocks, float* memory) : elements(memory) {
    for (int64_t i = 0; i < blocks.rows; ++i) {
      for (int64_t j = 0; j < blocks.columns; ++j) {
        for (int64_t g = 0; g < groups; ++g) {
          counts.push_back(count_of(blocks.first_row + i, blocks.first_column + j, g));
        }
      }
    }
  }
};

// Bytes of the rows that member `from` has for member `to`.
inline int64_t bytes_between(int64_t from, int64_t to, int64_t each, bool back) {
  int64_t sum = 0;
  for (int64_t i = 0; i < each; ++i)
    for (int64_t j = 0; j < each; ++j)
      sum += back ? rows_of(to * each + i, from * each + j) : rows_of(from * each + i, to * each + j);
  return sum * width * static_cast<int64_t>(sizeof(float));
}

// Of members that share memory each row is read once; else it is packed, sent (or kept) and unpacked.
inline int64_t moved(int64_t member, int64_t size, int64_t each, bool back, const Transport& transport) {
  int64_t bytes = 0;
  for (int64_t other = 0; other < size; ++other) {
    const int64_t sent = bytes_between(member, other, each, back), taken = bytes_between(other, member, each, back);
    const bool shares = transport.way != Transport::Way::messages &&
                        (transport.hosts.empty() ||
                         transport.hosts[static_cast<size_t>(member)] == transport.hosts[static_cast<size_t>(other)]);
    bytes += shares ? taken : 2 * sent + taken;
  }
  return bytes;
}

}  // namespace counted

// From blocks that are split along one dimension to blocks split along the other, `each` of them a rank and dimension.
// Throws where a rank finds a fault.
inline void check_counted_rows(Communicator& all, std::span<std::byte> arena, int64_t each, bool back,
                               const Transport& transport) {
  using namespace counted;
  const int64_t p = all.size(), whole = p * each, own = all.rank() * each, block = rows * width;
  const Blocks rows_here{own, each, 0, whole}, columns_here{0, whole, own, each};
  const Blocks &from = back ? columns_here : rows_here, &to = back ? rows_here : columns_here;
  auto* memory = reinterpret_cast<float*>(arena.data());
  Part source(from, memory), destination(to, memory + whole * each * block);
  for (int64_t b = 0; b < whole * each; ++b) {
    const int64_t i = from.first_row + b / from.columns, j = from.first_column + b % from.columns;
    for (int64_t at = 0; at < block; ++at) source.elements[b * block + at] = element_of(i, j, at);
  }
  std::fill_n(destination.elements, whole * each * block, untouched);
  CollectivePart part{source.elements, destination.elements, {from.rows, from.columns, rows, width}, DType::f32};
  part.split_dim = back ? 0 : 1;
  part.concat_dim = back ? 1 : 0;
  part.sent_rows = source.counts.data();
  part.received_rows = destination.counts.data();
  part.row_groups = groups;
  const CommunicationRecord record = all.all_to_all({&part, 1});
  for (int64_t b = 0; b < whole * each; ++b) {
    const int64_t i = to.first_row + b / to.columns, j = to.first_column + b % to.columns;
    for (int64_t at = 0; at < block; ++at) {
      const float expected = at < rows_of(i, j) * width ? element_of(i, j, at) : untouched;
      if (destination.elements[b * block + at] != expected) throw std::runtime_error("another element");
    }
  }
  if (record.moved_bytes != moved(all.rank(), p, each, back, transport))
    throw std::runtime_error("other bytes moved than are counted");
  const double bound =
      static_cast<double>(whole * each * block) * sizeof(float) * static_cast<double>(p - 1) / static_cast<double>(p);
  if (record.wire_bytes != bound) throw std::runtime_error("wire bytes are those of all rows");
}

// In both directions, of one block and of several.
inline void check_counted_rows(Communicator& all, std::span<std::byte> arena, const Transport& transport) {
  for (const int64_t each : {1, 2})
    for (const bool back : {false, true}) {
      const auto needed = static_cast<size_t>(2 * all.size() * each * each * counted::rows * counted::width);
      if (needed * sizeof(float) > arena.size()) throw std::runtime_error("the arena is too small for counted rows");
      all.barrier();
      check_counted_rows(all, arena, each, back, transport);
    }
}

}  // namespace shardscope::checks
