#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "engine/program/step.h"

namespace shardscope {

enum class MemoryCategory : uint8_t { parameters, gradients, optimizer, activations, collectives, workspace };
inline constexpr int memory_category_count = 6;
std::string_view name(MemoryCategory category);

// A region of every rank's arena: [offset, offset + bytes), in use from position `first` to position `last` of the
// program's main sequence, folded (see sequence.h), inclusive. Persistent buffers (parameters, optimizer state, inputs)
// span all of it.
struct Buffer {
  int value = -1;  // the program value that lies in it first; -1: workspace of the step at `first`
  MemoryCategory category = MemoryCategory::activations;
  int64_t bytes = 0;
  int64_t offset = 0;
  int first = 0;
  int last = 0;
  bool persistent = false;
};

// Where everything lies, on every rank, in all sequences of a program.
struct ArenaLayout {
  std::vector<Buffer> buffers;
  std::vector<int> buffer_of;  // per program value; values may share a buffer (in-place results)
  StepTable<int> workspace;    // per step: its buffer, or -1
  int64_t bytes = 0;           // of the arena
  int length = 0;              // positions that lifetimes speak of
};

}  // namespace shardscope
