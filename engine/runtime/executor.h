#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "engine/comm/communicator.h"
#include "engine/plan/plan.h"
#include "engine/runtime/kernels/kernel.h"
#include "engine/runtime/trace.h"

namespace shardscope {

// Runs a plan's program as one device of its mesh. Everything is bound to addresses once; a step then allocates
// nothing. The plan, arena, world and observer must outlive it. Every rank makes its Executor at the same time, since
// that splits `world` into the groups of the program's collectives (rank in a group = Mesh::group_index).
class Executor {
 public:
  // `arena` holds program.arena_bytes, 64-byte aligned. `observer` may be null. Throws Failure that names the step
  // when a kernel is missing or the plan cannot be executed as it stands.
  Executor(const Plan& plan, int device, std::byte* arena, Communicator& world, ExecutionObserver* observer = nullptr);
  ~Executor();

  // One training step. Throws Failure whose place begins with the plan step, "step 12 (Dense_0/einsum)".
  void run_step(int64_t training_step);

  // The memory of a program value on this device.
  std::span<std::byte> value(int program_value) const;

 private:
  class BoundStep;
  class BoundCompute;
  class BoundSlice;
  class BoundCollective;

  TensorView view(int program_value) const;
  std::unique_ptr<BoundStep> bind(const Step& step);
  Communicator& group(const std::vector<AxisIndex>& axes);

  const Plan& plan_;
  int device_;
  std::byte* arena_;
  Communicator& world_;
  ExecutionObserver* observer_;
  std::map<std::vector<AxisIndex>, std::unique_ptr<Communicator>> groups_;
  std::vector<std::unique_ptr<BoundStep>> steps_;
};

// For a permute from `source` to `destination` among the devices of a group, which rank each rank sends to, such that
// each device gets its own box. A rank that already holds its box keeps it. Throws Failure when boxes do not match.
std::vector<int> permute_destinations(const Mesh& mesh, const Shape& shape, const Sharding& source,
                                      const Sharding& destination, const std::vector<int>& devices);

}  // namespace shardscope
