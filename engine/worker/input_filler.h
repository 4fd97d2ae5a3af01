#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "engine/data/data_source.h"
#include "engine/plan/plan.h"
#include "engine/runtime/executor.h"

namespace shardscope {

// Puts a device's part of a plan's inputs into its arena.
class InputFiller {
 public:
  // What the plan's steps take. Throws Failure where the data section of the plan's config is wrong.
  InputFiller(const Plan& plan, int device, const Executor& executor);
  // What a source gives.
  InputFiller(const Plan& plan, int device, const Executor& executor, std::unique_ptr<DataSource> source);

  // Call it before each step; what is the same in every step is filled once.
  void fill(int64_t step);
  // Others have filled the inputs in between.
  void forget() { filled_ = false; }

 private:
  struct Input {
    std::string name;
    Box box;
    std::span<std::byte> memory;
  };

  std::unique_ptr<DataSource> source_;
  std::vector<Input> inputs_;
  bool filled_ = false;
};

}  // namespace shardscope
