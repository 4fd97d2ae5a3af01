#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "engine/program/program.h"

namespace shardscope {

enum class MemoryCategory : uint8_t { parameters, gradients, optimizer, activations, collectives, workspace };
inline constexpr int memory_category_count = 6;
std::string_view name(MemoryCategory category);
using CategoryBytes = std::array<int64_t, memory_category_count>;

// A region of every rank's arena: [offset, offset + bytes), in use from position `first` to position `last` of the
// main sequence of its stage, folded (see sequence.h), inclusive. Persistent buffers (parameters, optimizer state,
// inputs) span all of it. What is kept while other microbatches run is in slots, equal parts of the buffer: those of
// microbatch m in slot m modulo `slot_count`.
struct Buffer {
  int value = -1;  // the program value that is in it first; -1: workspace of the instruction at `first`
  MemoryCategory category = MemoryCategory::activations;
  int64_t bytes = 0;
  int64_t offset = 0;
  int first = 0;
  int last = 0;
  bool persistent = false;
  int slot_count = 1;

  int64_t slot_offset(int microbatch) const { return offset + microbatch % slot_count * (bytes / slot_count); }
};

// Where everything is, on every rank of a stage, in all sequences of a program.
struct ArenaLayout {
  std::vector<Buffer> buffers;
  std::vector<int> buffer_of;  // per program value; values may share a buffer (in-place results); -1: of another stage
  InstructionTable<int> workspace;  // per instruction: its buffer, or -1; of a send what is on its way, in slots
  int64_t bytes = 0;                // of the arena
  int length = 0;                   // positions that lifetimes speak of
};

int64_t largest_arena_bytes(std::span<const ArenaLayout> arenas);  // of the largest of these, at least one

// Where the arrays of a message lie in the buffer of its send, in the order of its operands.
struct MessageLayout {
  std::vector<int64_t> offsets;
  int64_t bytes = 0;
};
MessageLayout message_layout(const Program& program, const Send& send);

}  // namespace shardscope
