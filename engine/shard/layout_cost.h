#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "engine/base/shape.h"
#include "engine/mesh/reshard.h"
#include "engine/mesh/sharding.h"

namespace shardscope {

// Seconds per unit of work of one rank, as the cost model sees its share of the machine.
struct CostRates {
  double seconds_per_matrix_flop = 1e-10;
  double seconds_per_byte = 1e-10;  // streamed through memory
  double seconds_per_wire_byte = 2e-10;
  double seconds_per_collective = 60e-6;
  double seconds_per_step = 3e-6;
};

// Layouts and array types as small ids, and the seconds that a reshard between two of them takes, remembered.
class LayoutCosts {
 public:
  LayoutCosts(const Mesh& mesh, const CostRates& rates) : mesh_(mesh), rates_(rates) {}

  int layout_id(const Sharding& sharding);
  // Arrays that share each collective with others pay only their share of its latency.
  int type_id(const TensorType& type, double latency_share = 1);
  const Sharding& layout(int id) const { return layouts_[id]; }
  // Infinite where `to` cannot be made from `from`.
  float reshard_seconds(int type, int from, int to);

 private:
  struct CostedType {
    TensorType type;
    double latency_share;
    bool operator==(const CostedType&) const = default;
  };

  const Mesh& mesh_;
  CostRates rates_;
  std::vector<Sharding> layouts_;
  std::unordered_multimap<uint64_t, int> layout_index_;
  std::vector<CostedType> types_;
  std::unordered_map<uint64_t, float> seconds_;
};

}  // namespace shardscope
