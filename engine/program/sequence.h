#pragma once

#include <cstdint>
#include <iterator>
#include <optional>
#include <string_view>
#include <vector>

#include "engine/program/task.h"

namespace shardscope {

enum class Purpose : uint8_t { initialise, train_step, evaluate };
std::string_view name(Purpose purpose);

struct TaskRun {
  int task = -1;
  int microbatch = 0;
  int first = 0;         // position of the task's first instruction
  int folded_first = 0;  // and in the folded sequence
  bool is_first = true;  // no other run of the task is before it
};

// What runs when, for one purpose. The instructions of all runs have positions 0 .. length - 1: a place in the trace,
// on the time line, and in the lives of buffers.
//
// Positions count instructions as they are issued (Task::order).
//
// Example: forward of 5 instructions, backward of 8, update of 2, issued as listed: backward's instruction 3,
// InstructionId{1, 3}, is at position 8 of 15.
struct Sequence {
  Purpose purpose = Purpose::train_step;
  std::vector<TaskRun> runs;
  int length = 0;
  int stage = 0;  // of the pipeline: whose devices run it
};

// Positions follow from the tasks' numbers of instructions; runs of tasks without any are left out.
Sequence make_sequence(Purpose purpose, std::vector<TaskRun> runs, const std::vector<Task>& tasks, int stage = 0);

InstructionId instruction_at(const std::vector<Task>& tasks, const Sequence& sequence, int position);
// The run that a position is in.
const TaskRun& run_at(const Sequence& sequence, int position);
// Where a task's instruction is, when the task runs for that microbatch.
std::optional<int> position_of(const std::vector<Task>& tasks, const Sequence& sequence, InstructionId instruction,
                               int microbatch = 0);

// What a task does is alike in all microbatches: a sequence with the first run of each task alone, the folded one,
// tells it all.
//
// Example: forward of 5 instructions and backward of 8 for each of 3 microbatches, update of 2: 41 positions, folded
// 15; backward's instruction 3 of microbatch 1, position 21, is 8 in the folded sequence, and update's instruction 0,
// position 39, is 13.
int folded_length(const Sequence& sequence);
int folded(const Sequence& sequence, int position);
int unfolded(const Sequence& sequence, int position);  // in the first run of its task

// Each instruction of the sequence once: where it is first, and how often the sequence runs it.
struct RepeatedInstruction {
  int position = 0;
  int count = 1;
};
std::vector<RepeatedInstruction> distinct_instructions(const Sequence& sequence);

// The instructions of a sequence in order: a view, by position.
class SequenceInstructions {
 public:
  SequenceInstructions(const std::vector<Task>& tasks, const Sequence& sequence)
      : tasks_(&tasks), sequence_(&sequence) {}

  int size() const { return sequence_->length; }
  bool empty() const { return size() == 0; }
  InstructionId id(int position) const { return instruction_at(*tasks_, *sequence_, position); }
  const Task& task(int position) const { return (*tasks_)[id(position).task]; }
  const Instruction& operator[](int position) const {
    const InstructionId at = id(position);
    return (*tasks_)[at.task].instructions[at.index];
  }

  // Of a collective the position of its start, and of its done; of others their own.
  int start_of(int position) const;
  int done_of(int position) const;

  class Iterator {
   public:
    using value_type = Instruction;
    using reference = const Instruction&;
    using pointer = const Instruction*;
    using difference_type = std::ptrdiff_t;
    using iterator_category = std::forward_iterator_tag;

    Iterator() = default;
    Iterator(const std::vector<Task>* tasks, const Sequence* sequence, size_t run)
        : tasks_(tasks), sequence_(sequence), run_(run) {
      skip_empty();
    }
    reference operator*() const { return task().issued(static_cast<int>(index_)); }
    pointer operator->() const { return &**this; }
    Iterator& operator++() {
      ++index_;
      skip_empty();
      return *this;
    }
    Iterator operator++(int) {
      Iterator before = *this;
      ++*this;
      return before;
    }
    bool operator==(const Iterator& other) const { return run_ == other.run_ && index_ == other.index_; }

   private:
    const Task& task() const { return (*tasks_)[sequence_->runs[run_].task]; }
    void skip_empty() {
      while (run_ < sequence_->runs.size() && index_ >= task().instructions.size()) ++run_, index_ = 0;
    }

    const std::vector<Task>* tasks_ = nullptr;
    const Sequence* sequence_ = nullptr;
    size_t run_ = 0, index_ = 0;
  };
  Iterator begin() const { return {tasks_, sequence_, 0}; }
  Iterator end() const { return {tasks_, sequence_, sequence_->runs.size()}; }

 private:
  const std::vector<Task>* tasks_;
  const Sequence* sequence_;
};

}  // namespace shardscope
