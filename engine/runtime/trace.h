#pragma once

#include <cstdint>

namespace shardscope {

// Sees each plan step (index in Program::steps) of one rank as it is done, in order, from the thread that runs it.
class ExecutionObserver {
 public:
  virtual ~ExecutionObserver() = default;
  // The rank came to the step.
  virtual void begin(int plan_step) = 0;
  // It is done. Of the time since begin(), `waited_ns` were spent waiting for peers. `bytes` are those that this rank
  // sent, as its communicator counted them. Both are 0 for local steps.
  virtual void end(int plan_step, int64_t waited_ns, int64_t bytes) = 0;
};

}  // namespace shardscope
