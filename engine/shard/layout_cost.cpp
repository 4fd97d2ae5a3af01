#include "engine/shard/layout_cost.h"

#include <algorithm>
#include <limits>

#include "engine/shard/hash_mix.h"

namespace shardscope {

namespace {

uint64_t fingerprint(const Sharding& sharding) {
  uint64_t hash = mix(sharding.rank, sharding.partial);
  for (int d = 0; d < sharding.rank; ++d) {
    uint64_t axes = sharding.dims[d].count;
    for (AxisIndex axis : sharding.dims[d]) axes = axes << 8 | axis;
    hash = mix(hash, axes);
  }
  return hash;
}

constexpr double infinity = std::numeric_limits<double>::infinity();

}  // namespace

double local_seconds(const CostRates& rates, const LocalWork& work) {
  const double per_flop =
      work.dtype == DType::bf16 ? rates.seconds_per_matrix_flop_bf16 : rates.seconds_per_matrix_flop;
  return std::max(rates.seconds_per_step + work.bytes * rates.seconds_per_byte, work.matrix_flops * per_flop);
}

double collective_seconds(const CostRates& rates, double wire_bytes) {
  return rates.seconds_per_collective + wire_bytes * rates.seconds_per_wire_byte;
}

int LayoutCosts::layout_id(const Sharding& sharding) {
  uint64_t key = fingerprint(sharding);
  auto [first, last] = layout_index_.equal_range(key);
  for (; first != last; ++first) {
    if (layouts_[first->second] == sharding) return first->second;
  }
  layouts_.push_back(sharding);
  layout_index_.emplace(key, static_cast<int>(layouts_.size()) - 1);
  return static_cast<int>(layouts_.size()) - 1;
}

int LayoutCosts::type_id(const TensorType& type, double latency_share) {
  uint64_t key = mix(static_cast<uint64_t>(type.dtype), latency_share == 1);
  for (int64_t size : type.shape) key = mix(key, static_cast<uint64_t>(size));
  auto [first, last] = type_index_.equal_range(key);
  for (; first != last; ++first) {
    const CostedType& known = types_[first->second];
    if (known.latency_share == latency_share && known.type == type) return first->second;
  }
  types_.push_back({type, latency_share});
  type_index_.emplace(key, static_cast<int>(types_.size()) - 1);
  return static_cast<int>(types_.size()) - 1;
}

double LayoutCosts::local_bytes(int type, int layout) const {
  double bytes = static_cast<double>(types_[type].type.bytes());
  for (int d = 0; d < layouts_[layout].rank; ++d) bytes /= static_cast<double>(shard_count(layouts_[layout], mesh_, d));
  return bytes;
}

ReshardCost LayoutCosts::price(const CostedType& array, const Sharding& from, const Sharding& to) const {
  if (!can_reshard(from, to)) return {infinity, 0, infinity};
  ReshardCost cost;
  Sharding current = from;
  for (const ReshardStep& step : reshard_path(from, to, mesh_)) {
    if (step.kind == ReshardKind::slice) {
      double bytes = static_cast<double>(array.type.bytes());
      for (int d = 0; d < step.result.rank; ++d) bytes /= static_cast<double>(shard_count(step.result, mesh_, d));
      cost.seconds += local_seconds(rates_, {2 * bytes});
    } else {
      const double moved = shardscope::wire_bytes(step, current, mesh_, array.type);
      cost.wire_bytes += moved;
      ++cost.collectives;
      cost.seconds += collective_seconds(rates_, moved) - rates_.seconds_per_collective * (1 - array.latency_share);
    }
    current = step.result;
  }
  return cost;
}

const ReshardCost& LayoutCosts::reshard(int type, int from, int to) {
  const uint64_t key =
      (static_cast<uint64_t>(type) << 40) | (static_cast<uint64_t>(from) << 20) | static_cast<uint64_t>(to);
  auto [entry, added] = costs_.try_emplace(key);
  if (added && from != to) entry->second = price(types_[type], layouts_[from], layouts_[to]);
  return entry->second;
}

int LayoutCosts::cheapest_source(int type, std::span<const int> made, int needed) {
  int best = -1;
  double bytes = infinity;
  int collectives = 0;
  for (int i = 0; i < static_cast<int>(made.size()); ++i) {
    if (made[i] == needed) return i;
    const ReshardCost& cost = reshard(type, made[i], needed);
    if (cost.wire_bytes < bytes || (cost.wire_bytes == bytes && best >= 0 && cost.collectives < collectives)) {
      best = i, bytes = cost.wire_bytes, collectives = cost.collectives;
    }
  }
  return best;
}

}  // namespace shardscope
