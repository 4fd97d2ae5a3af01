#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <unordered_map>
#include <vector>

#include "engine/base/shape.h"
#include "engine/mesh/reshard.h"
#include "engine/mesh/sharding.h"

namespace shardscope {

// What moves between devices.
struct WireRate {
  double seconds_per_byte = 2e-10;  // that a device sends
  double latency = 60e-6;           // of one rendezvous of a group, seconds

  bool operator==(const WireRate&) const = default;
};

// Seconds per unit of work of one rank, as the cost model sees its share of the machine.
struct CostRates {
  double seconds_per_matrix_flop = 1e-10;       // of f32 products
  double seconds_per_matrix_flop_bf16 = 1e-10;  // of bf16 products
  double seconds_per_byte = 1e-10;              // streamed through memory
  double seconds_per_step = 3e-6;
  WireRate wire;                // inside a host
  std::vector<WireRate> links;  // along each mesh axis; empty: `wire` along all
  WireRate transfer;            // from stage to stage
};

// What one device does in a local instruction.
struct LocalWork {
  double bytes = 0;         // touched in memory
  double matrix_flops = 0;  // of matrix products; other work is priced by its bytes
  DType dtype = DType::f32;
};

// The price of a step, for the search of layouts and for the prediction alike.
double local_seconds(const CostRates& rates, const LocalWork& work);
double exchange_seconds(const WireRate& rate, double wire_bytes);
// Of a group over these axes: its ring goes over the links of all of them, and is as fast as the slowest.
WireRate group_rate(const CostRates& rates, const AxisList& axes);

// Of what cannot be made.
inline constexpr double infinite_cost = std::numeric_limits<double>::infinity();

struct ReshardCost {
  double wire_bytes = 0;  // per device
  int collectives = 0;
  double seconds = 0;
};

// Layouts and array types as small ids, and what a reshard between two of them costs, remembered.
class LayoutCosts {
 public:
  explicit LayoutCosts(const Mesh& mesh, const CostRates& rates = {}) : mesh_(mesh), rates_(rates) {}

  int layout_id(const Sharding& sharding);
  // Arrays that share each collective with others pay only their share of its latency.
  int type_id(const TensorType& type, double latency_share = 1);
  const Sharding& layout(int id) const { return layouts_[id]; }
  const TensorType& type(int id) const { return types_[id].type; }
  ReshardCost reshard(int type, int from, int to);
  // Bytes of one device's part.
  double local_bytes(int type, int layout) const;

  // Which of the layouts that an array has it is brought to `needed` from: position in `made`. The one that moves the
  // fewest bytes, then takes the fewest collectives, then is the first; -1 where none can become `needed`.
  struct Source {
    int position = -1;
    ReshardCost cost;
  };
  Source cheapest_source(int type, std::span<const int> made, int needed);

 private:
  struct CostedType {
    TensorType type;
    double latency_share;
  };

  struct Entry {
    uint64_t key = 0;  // 0: free
    ReshardCost cost;
  };

  Entry& entry(uint64_t key);
  ReshardCost price(const CostedType& type, const Sharding& from, const Sharding& to) const;

  const Mesh& mesh_;
  CostRates rates_;
  std::vector<Sharding> layouts_;
  std::unordered_multimap<uint64_t, int> layout_index_;
  std::vector<CostedType> types_;
  std::unordered_multimap<uint64_t, int> type_index_;
  std::vector<Entry> costs_;  // hashed, with linear probing
  size_t cost_count_ = 0;
};

}  // namespace shardscope
