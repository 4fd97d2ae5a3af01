#pragma once

#include <cstddef>
#include <cstdint>

namespace shardscope {

// Where in its task a reshard is: with those of other small arrays in front of all, behind all, or right before an op;
// or among the other instructions.
enum class Section : uint8_t { opening, main, closing, before_op };

// Where a layout of a value is made. In any section but main `stages` collectives (and what is cut before them) precede
// its use.
struct Making {
  int task = -1;  // -1: a source
  Section section = Section::main;
  size_t stages = 0;
  bool received = false;
};

// Of a reshard in `task` of a value that is defined in task `defined`: with other small arrays in front of the task,
// where nothing of the task itself is needed for it.
inline Section section_of(bool small, int defined, const Making& source, int task) {
  const bool made_behind = source.task == task && source.section == Section::main;
  return small && defined != task && !made_behind ? Section::opening : Section::main;
}

}  // namespace shardscope
