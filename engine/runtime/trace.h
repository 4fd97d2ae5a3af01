#pragma once

#include <cstdint>

namespace shardscope {

// Sees each step of a sequence on one rank as it is done, in order, from the thread that runs it. A step is named by
// its position in the sequence.
class ExecutionObserver {
 public:
  virtual ~ExecutionObserver() = default;
  // The rank came to the step.
  virtual void begin(int position) = 0;
  // It is done. Of the time since begin(), `waited_ns` were spent waiting for peers. `bytes` are those that this rank
  // sent, by the ring convention (both of its CommunicationRecord). Both are 0 for local steps.
  virtual void end(int position, int64_t waited_ns, int64_t bytes) = 0;
};

}  // namespace shardscope
