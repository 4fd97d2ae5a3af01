#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/machine/collective_seconds.h"
#include "engine/machine/links.h"
#include "engine/machine/memory_time.h"
#include "engine/machine/product_efficiency.h"

namespace shardscope {

// batch products of an m x k by a k x n matrix.
struct PricedProduct {
  Precision precision = Precision::f32;
  int64_t m = 1, n = 1, k = 1;
  int64_t batch = 1;
  bool transposed_left = false;  // the left operand is stored k x m
};

// What work costs one of `ranks` ranks on a machine, in seconds. On host_cores a rank has the share cores / ranks of a
// host (the fullest host's); what is stated per core counts times that share, shared memory levels are divided by the
// ranks of a host, and below one core an instruction's latency is longer by 1 / share.
//
// Keep one for a machine and number of ranks, and a GroupPlacement for each list of mesh axes: all prices are then a
// few dozen operations. Everything is const, so threads may share it.
class MachinePrices {
 public:
  // Throws Failure (device_count) where the machine has fewer devices.
  MachinePrices(Machine machine, int ranks);

  const Machine& machine() const { return machine_; }
  const Topology& topology() const { return topology_; }
  int threads_per_rank() const { return shardscope::threads_per_rank(machine_, topology_); }
  // Memory of one rank, bytes.
  int64_t memory_bytes() const;

  // latency + max(2 m n k batch / (peak x efficiency), bytes of operands and result once / memory rate at that size),
  // and at least the device's least_seconds(). Throws Failure (no_product_rate) where the machine has no rate for the
  // precision nor for a wider one.
  double matrix_product_seconds(const PricedProduct& product) const;

  // flops at the peak rate of products, which a rank has its share of; 0 where no rate is known.
  double peak_seconds(double flops, Precision precision) const;

  // latency + max(bytes / memory rate at that size, flops / vector rate) / efficiency, with the rate and efficiency of
  // the family where the machine has it (KernelRate); likewise.
  double local_seconds(std::string_view family, double bytes, double flops = 0,
                       Precision precision = Precision::f32) const;

  // All groups that run the collective at the same time. Those of a mesh are found once for all meshes whose devices
  // in order, inside and outside of the axes, alternate by the same numbers.
  GroupPlacement place(std::vector<std::vector<int>> groups) const;
  GroupPlacement place(const Mesh& mesh, const std::vector<AxisIndex>& axes) const;
  // collective_seconds.h
  double collective_seconds(InstructionKind collective, double payload, const GroupPlacement& groups) const;

  // links.h
  TransferRate transfer_rate(std::span<const std::pair<int, int>> transfers) const;
  double transfer_seconds(int from, int to, double bytes) const;

 private:
  struct Products {
    double seconds_per_flop = 0;
    int units = 1;
    std::vector<ProductTile> tiles;
    ProductEfficiency plain, transposed_left;
  };

  Machine machine_;
  Topology topology_;
  std::vector<LevelLinks> links_;  // by level
  double ranks_on_host_ = 1;
  double share_ = 1;  // of a core or device
  double latency_ = 0;
  MemoryTime memory_;
  struct Placed;
  std::shared_ptr<Placed> placed_;  // shared by copies
  std::vector<Products> products_;
  std::array<int, 6> products_of_{};  // by precision; -1: no rate is known
};

}  // namespace shardscope
