#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "engine/comm/communicator.h"
#include "engine/plan/plan.h"
#include "engine/runtime/kernels/kernel.h"
#include "engine/runtime/trace.h"

namespace shardscope {

// What goes along with one run of a sequence.
struct RunHooks {
  std::function<void(int)> begin_microbatch = {};  // before its first task
  std::function<bool(const Task&)> should_continue =
      {};                                 // asked before each task; where it says no, the rest is left out
  ExecutionObserver* observer = nullptr;  // instead of the executor's
};

// Runs the sequences of a plan's program as one device of its mesh. Everything is bound to addresses once; a step then
// allocates nothing. But for initialisation, which is bound when it runs and let go afterwards. The plan, arena, world
// and observer must outlive it. Every rank makes its Executor at the same time, since that first splits `world` into
// the program's groups, in their order (rank in a group = Mesh::group_index), and opens its channels.
class Executor {
 public:
  // `arena` holds plan.arena_of(device).bytes, 64-byte aligned. `observer` may be null. Throws Failure that names the
  // instruction when a kernel is missing or the plan cannot be executed as it stands.
  Executor(const Plan& plan, int device, std::byte* arena, Communicator& world, ExecutionObserver* observer = nullptr);
  ~Executor();

  // The tasks of the sequence of that purpose, one after the other. Throws Failure whose place begins with the position
  // in it, "step 12 (Dense_0/einsum)".
  void run(Purpose purpose, const StepContext& context, const RunHooks& hooks = {});

  // The memory of a program value on this device, which is of the value's stage; where it is in slots, for a
  // microbatch.
  std::span<std::byte> value(int program_value, int microbatch = 0) const;
  int stage() const { return stage_; }

 private:
  class BoundInstruction;
  class BoundCompute;
  class BoundSlice;
  class BoundStart;
  class BoundDone;
  class BoundSend;
  class BoundReceive;
  class Link;
  // By index, and in the order in which they are issued.
  struct BoundTask {
    std::vector<std::unique_ptr<BoundInstruction>> instructions;
    std::vector<BoundInstruction*> order;
  };

  TensorView view(int program_value, int microbatch) const;
  BoundTask bind_task(const Sequence& sequence, const TaskRun& run, int microbatch);
  std::unique_ptr<BoundInstruction> bind(InstructionId id, int microbatch, const BoundTask& task);
  std::unique_ptr<BoundInstruction> bind_compute(const Compute& compute, OpId op, InstructionId id, int microbatch);
  std::unique_ptr<BoundInstruction> bind_slice(const Slice& slice, int microbatch);
  std::unique_ptr<BoundInstruction> bind_start(const CollectiveStart& start, int microbatch);
  std::unique_ptr<BoundInstruction> bind_send(const Send& send, InstructionId id, int microbatch);
  std::unique_ptr<BoundInstruction> bind_receive(const Receive& receive, int microbatch);
  void bind_tasks(const Sequence& sequence);
  void split_groups();
  void open_channels();
  Communicator& group(const AxisList& axes) const;

  const Plan& plan_;
  int device_;
  int stage_;
  std::byte* arena_;
  Communicator& world_;
  ExecutionObserver* observer_;
  std::vector<std::unique_ptr<Communicator>> groups_;  // as Program::groups
  std::vector<Link> links_;                            // as Program::channels; empty where this device is no end
  // As Program::tasks, empty where not bound; microbatch m runs variant m modulo their number.
  std::vector<std::vector<BoundTask>> tasks_;
};

}  // namespace shardscope
