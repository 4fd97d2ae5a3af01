#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "engine/graph/op_definition.h"
#include "engine/machine/machine_prices.h"
#include "engine/machine/stack.h"
#include "engine/mesh/sharding.h"
#include "engine/shard/fused_chains.h"
#include "engine/shard/stack_types.h"

namespace shardscope {

// What the work of a program costs on a machine, in seconds: the one place that the search of layouts and the
// prediction ask. Prices are those of each piece alone.
//
// A group over mesh axes is priced by where its members are on the machine's topology; all groups over the same axes
// run their collective at the same time, those of all stages of a pipeline too. Not for several threads at a time:
// placements of groups are remembered.
class WorkPrices {
 public:
  // `mesh`: all devices of the run, by which the machine's topology counts. `stages`: the axis of the pipeline.
  // `stack`: what of the machine is used, and how. Throws Failure (device_count) where the machine has fewer devices.
  WorkPrices(const Machine& machine, const Mesh& mesh, std::optional<AxisIndex> stages = {}, Stack stack = {});
  // `machine`: of as many ranks as the mesh has devices.
  WorkPrices(std::shared_ptr<const MachinePrices> machine, const Mesh& mesh, std::optional<AxisIndex> stages,
             Stack stack);

  const MachinePrices& machine() const { return *machine_; }
  const Stack& stack() const { return stack_; }
  // From here on ops are those of this graph, which stays where it is; chains are fused, and activations narrow, where
  // the stack has it so.
  void use_graph(const Graph& graph);
  const StackTypes& types() const { return types_; }

  // A graph op on one device, whose operands and results have these local types: by the rate of its family where the
  // machine has one (KernelRate), else as the products that it consists of, else by the bytes that it touches.
  // Attention as the stack's kernel does it; of fused chains what enters and what leaves.
  double compute(const Op& op, std::span<const TensorType> operands, std::span<const TensorType> results) const;
  double slice(double bytes_touched) const { return machine_->local_seconds("slice", bytes_touched); }

  double collective(InstructionKind kind, double payload, const AxisList& axes) const {
    return machine_->collective_seconds(kind, payload, placement(axes));
  }

  // A message of one device to the device at its place in another stage: making it ready, and taking it.
  double send(double bytes_touched) const { return machine_->local_seconds("send", bytes_touched); }
  double receive(int from, int to, double bytes) const;

  // Where the groups over these axes lie.
  const GroupPlacement& placement(const AxisList& axes) const;

 private:
  double attention(const Op& op, const ScoreWork& work, std::span<const TensorType> operands,
                   std::span<const TensorType> results, double bytes) const;
  double bytes_of(const Op& op, std::span<const TensorType> operands, std::span<const TensorType> results) const;

  std::shared_ptr<const MachinePrices> machine_;
  Mesh mesh_;
  std::optional<AxisIndex> stages_;
  Stack stack_;
  const Graph* graph_ = nullptr;
  std::optional<FusedChains> chains_;
  StackTypes types_;
  mutable std::map<uint8_t, GroupPlacement> placements_;           // by the set of axes
  mutable std::map<std::pair<int, int>, TransferRate> transfers_;  // by stages
};

}  // namespace shardscope
