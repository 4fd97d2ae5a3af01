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
  int first = 0;         // position of the task's first step
  int folded_first = 0;  // and in the folded sequence
  bool is_first = true;  // no other run of the task is before it
};

// What runs when, for one purpose. The steps of all runs have positions 0 .. length - 1: a place in the trace, on the
// time line, and in the lives of buffers.
//
// Example: forward of 5 steps, backward of 8, update of 2: backward's step 3, StepId{1, 3}, is at position 8 of 15.
struct Sequence {
  Purpose purpose = Purpose::train_step;
  std::vector<TaskRun> runs;
  int length = 0;
  int stage = 0;  // of the pipeline: whose devices run it
};

// Positions follow from the tasks' numbers of steps; runs of tasks without steps are left out.
Sequence make_sequence(Purpose purpose, std::vector<TaskRun> runs, const std::vector<Task>& tasks, int stage = 0);

StepId step_at(const Sequence& sequence, int position);
// The run that a position is in.
const TaskRun& run_at(const Sequence& sequence, int position);
// Where a task's step is, when the task runs for that microbatch.
std::optional<int> position_of(const Sequence& sequence, StepId step, int microbatch = 0);

// What a task does is alike in all microbatches: a sequence with the first run of each task alone, the folded one,
// tells it all.
//
// Example: forward of 5 steps and backward of 8 for each of 3 microbatches, update of 2: 41 positions, folded 15;
// backward's step 3 of microbatch 1, position 21, is 8 in the folded sequence, and update's step 0, position 39, is 13.
int folded_length(const Sequence& sequence);
int folded(const Sequence& sequence, int position);
int unfolded(const Sequence& sequence, int position);  // in the first run of its task

// Each step of the sequence once: where it is first, and how often the sequence runs it.
struct RepeatedStep {
  int position = 0;
  int count = 1;
};
std::vector<RepeatedStep> distinct_steps(const Sequence& sequence);

// The steps of a sequence in order: a view, by position.
class SequenceSteps {
 public:
  SequenceSteps(const std::vector<Task>& tasks, const Sequence& sequence) : tasks_(&tasks), sequence_(&sequence) {}

  int size() const { return sequence_->length; }
  bool empty() const { return size() == 0; }
  StepId id(int position) const { return step_at(*sequence_, position); }
  const Task& task(int position) const { return (*tasks_)[id(position).task]; }
  const Step& operator[](int position) const {
    const StepId at = id(position);
    return (*tasks_)[at.task].steps[at.step];
  }

  class Iterator {
   public:
    using value_type = Step;
    using reference = const Step&;
    using pointer = const Step*;
    using difference_type = std::ptrdiff_t;
    using iterator_category = std::forward_iterator_tag;

    Iterator() = default;
    Iterator(const std::vector<Task>* tasks, const Sequence* sequence, size_t run)
        : tasks_(tasks), sequence_(sequence), run_(run) {
      skip_empty();
    }
    reference operator*() const { return steps()[step_]; }
    pointer operator->() const { return &**this; }
    Iterator& operator++() {
      ++step_;
      skip_empty();
      return *this;
    }
    Iterator operator++(int) {
      Iterator before = *this;
      ++*this;
      return before;
    }
    bool operator==(const Iterator& other) const { return run_ == other.run_ && step_ == other.step_; }

   private:
    const std::vector<Step>& steps() const { return (*tasks_)[sequence_->runs[run_].task].steps; }
    void skip_empty() {
      while (run_ < sequence_->runs.size() && step_ >= steps().size()) ++run_, step_ = 0;
    }

    const std::vector<Task>* tasks_ = nullptr;
    const Sequence* sequence_ = nullptr;
    size_t run_ = 0, step_ = 0;
  };
  Iterator begin() const { return {tasks_, sequence_, 0}; }
  Iterator end() const { return {tasks_, sequence_, sequence_->runs.size()}; }

 private:
  const std::vector<Task>* tasks_;
  const Sequence* sequence_;
};

}  // namespace shardscope
