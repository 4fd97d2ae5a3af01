#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "engine/data/data_source.h"
#include "engine/plan/plan.h"
#include "engine/runtime/executor.h"

namespace shardscope {

// Puts a device's part of a plan's inputs, those that its stage uses, into its arena.
class InputFiller {
 public:
  // What the plan's steps take.
  InputFiller(const Plan& plan, int device, const Executor& executor);
  // What a source gives.
  InputFiller(const Plan& plan, int device, const Executor& executor, std::unique_ptr<DataSource> source);

  // Before the first step that is filled; `on_progress` as DataSource::prepare() has it.
  void prepare(int64_t step, const std::function<void()>& on_progress);
  // Call it before each microbatch of each step; what is the same in all of them is filled once.
  void fill(int64_t step, int microbatch);
  // Others have filled the inputs in between.
  void forget() { filled_ = false; }

 private:
  struct Input {
    std::string name;
    Box box;       // in the first microbatch
    int64_t rows;  // of a microbatch, on all devices
    int value;     // of the program
  };

  const Executor& executor_;
  std::unique_ptr<DataSource> source_;
  std::vector<Input> inputs_;
  bool several_;  // microbatches
  bool filled_ = false;
};

}  // namespace shardscope
