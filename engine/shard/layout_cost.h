#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <unordered_map>
#include <vector>

#include "engine/base/shape.h"
#include "engine/mesh/reshard.h"
#include "engine/mesh/sharding.h"
#include "engine/shard/work_prices.h"

namespace shardscope {

// Of what cannot be made.
inline constexpr double infinite_cost = std::numeric_limits<double>::infinity();

struct ReshardCost {
  double wire_bytes = 0;  // per device
  int collectives = 0;
  double seconds = 0;  // 0 where nothing is priced
};

// A step of a reshard's path, priced.
struct PricedStep {
  InstructionKind kind = InstructionKind::slice;
  AxisList axes;
  Reduction reduction = Reduction::sum;
  int layout = -1;     // id of that after it
  double payload = 0;  // bytes that a collective is expected to move: whole, but for counted rows
  double seconds = 0;  // alone; 0 where nothing is priced
};

// Layouts and array types as small ids, and what a reshard between two of them costs, remembered.
class LayoutCosts {
 public:
  // Without prices bytes and collectives alone are reported.
  explicit LayoutCosts(const Mesh& mesh, const WorkPrices* prices = nullptr) : mesh_(mesh), prices_(prices) {}

  int layout_id(const Sharding& sharding);
  // `counted_share`: of rows, the share that is expected to be counted (CountedRows); an exchange moves no others.
  int type_id(const TensorType& type, double counted_share = 1);
  const Sharding& layout(int id) const { return layouts_[id]; }
  const TensorType& type(int id) const { return types_[id].type; }
  ReshardCost reshard(int type, int from, int to) { return entry_of(type, from, to).cost; }
  // The steps of that reshard, which there must be; valid until the next layout or reshard is asked for.
  std::span<const PricedStep> path(int type, int from, int to);
  // Bytes of one device's part.
  double local_bytes(int type, int layout) const;
  int64_t shards(int layout) const { return shard_count(layouts_[layout], mesh_); }

  // Which of the layouts that an array has it is brought to `needed` from: position in `made`. The one that moves the
  // fewest bytes, then takes the fewest collectives, then is the first; -1 where none can become `needed`.
  struct Source {
    int position = -1;
    ReshardCost cost;
  };
  Source cheapest_source(int type, std::span<const int> made, int needed);

 private:
  struct ArrayType {
    TensorType type;
    double counted_share = 1;
    bool operator==(const ArrayType&) const = default;
  };
  struct Entry {
    uint64_t key = 0;  // 0: free
    ReshardCost cost;
    size_t first_step = 0, step_count = 0;
  };

  Entry& slot(uint64_t key);
  const Entry& entry_of(int type, int from, int to);
  Entry price(uint64_t key, const ArrayType& array, const Sharding& from, const Sharding& to);

  const Mesh& mesh_;
  const WorkPrices* prices_;
  std::vector<Sharding> layouts_;
  std::unordered_multimap<uint64_t, int> layout_index_;
  std::vector<ArrayType> types_;
  std::unordered_multimap<uint64_t, int> type_index_;
  std::vector<Entry> costs_;  // hashed, with linear probing
  std::vector<PricedStep> steps_;
  Entry nothing_;  // from a layout to itself
  size_t cost_count_ = 0;
};

}  // namespace shardscope
