#pragma once

#include <map>
#include <optional>
#include <span>
#include <vector>

#include "engine/graph/op_definition.h"
#include "engine/machine/machine_prices.h"
#include "engine/mesh/sharding.h"

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
  // Throws Failure (device_count) where the machine has fewer devices.
  WorkPrices(const Machine& machine, const Mesh& mesh, std::optional<AxisIndex> stages = {});

  const MachinePrices& machine() const { return machine_; }

  // A graph op on one device, whose operands and results have these local types: by the rate of its family where the
  // machine has one (KernelRate), else as the products that it consists of, else by the bytes that it touches.
  double compute(const Op& op, std::span<const TensorType> operands, std::span<const TensorType> results) const;
  double slice(double bytes_touched) const { return machine_.local_seconds("slice", bytes_touched); }

  double collective(InstructionKind kind, double payload, const AxisList& axes) const {
    return machine_.collective_seconds(kind, payload, placement(axes));
  }

  // A message of one device to the device at its place in another stage: making it ready, and taking it.
  double send(double bytes_touched) const { return machine_.local_seconds("send", bytes_touched); }
  double receive(int from, int to, double bytes) const;

  // Where the groups over these axes lie.
  const GroupPlacement& placement(const AxisList& axes) const;

 private:
  MachinePrices machine_;
  Mesh mesh_;
  std::optional<AxisIndex> stages_;
  mutable std::map<uint8_t, GroupPlacement> placements_;           // by the set of axes
  mutable std::map<std::pair<int, int>, TransferRate> transfers_;  // by stages
};

}  // namespace shardscope
