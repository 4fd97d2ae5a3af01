#include "engine/shard/layout_cost.h"

#include <algorithm>
#include <utility>

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

}  // namespace

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
  return static_cast<double>(types_[type].type.bytes() / shard_count(layouts_[layout], mesh_));
}

ReshardCost LayoutCosts::price(const CostedType& array, const Sharding& from, const Sharding& to) const {
  if (!can_reshard(from, to)) return {infinite_cost, 0, infinite_cost};
  ReshardCost cost;
  Sharding current = from;
  for (const ReshardStep& step : reshard_path(from, to, mesh_)) {
    if (step.kind == InstructionKind::slice) {
      const int64_t bytes = array.type.bytes() / shard_count(step.result, mesh_);
      if (prices_) cost.seconds += prices_->slice(2 * static_cast<double>(bytes));
    } else {
      double payload = 0;
      cost.wire_bytes += shardscope::wire_bytes(step, current, mesh_, array.type, &payload);
      ++cost.collectives;
      if (prices_) cost.seconds += prices_->collective(step.kind, payload, step.axes, array.latency_share);
    }
    current = step.result;
  }
  return cost;
}

LayoutCosts::Entry& LayoutCosts::entry(uint64_t key) {
  const size_t mask = costs_.size() - 1;
  size_t slot = mix(0, key) & mask;
  while (costs_[slot].key != 0 && costs_[slot].key != key) slot = (slot + 1) & mask;
  return costs_[slot];
}

ReshardCost LayoutCosts::reshard(int type, int from, int to) {
  if (from == to) return {};
  if (2 * cost_count_ >= costs_.size()) {
    std::vector<Entry> before = std::exchange(costs_, std::vector<Entry>(std::max<size_t>(1024, 2 * costs_.size())));
    for (const Entry& old : before) {
      if (old.key != 0) entry(old.key) = old;
    }
  }
  const uint64_t key =
      (static_cast<uint64_t>(type + 1) << 40) | (static_cast<uint64_t>(from) << 20) | static_cast<uint64_t>(to);
  Entry& found = entry(key);
  if (found.key == 0) {
    found = {key, price(types_[type], layouts_[from], layouts_[to])};
    ++cost_count_;
  }
  return found.cost;
}

LayoutCosts::Source LayoutCosts::cheapest_source(int type, std::span<const int> made, int needed) {
  Source best{-1, {infinite_cost, 0, infinite_cost}};
  for (int i = 0; i < static_cast<int>(made.size()); ++i) {
    if (made[i] == needed) return {i, {}};
    const ReshardCost cost = reshard(type, made[i], needed);
    const bool fewer = cost.wire_bytes == best.cost.wire_bytes && cost.collectives < best.cost.collectives;
    if (cost.wire_bytes < best.cost.wire_bytes || fewer) best = {i, cost};
  }
  return best;
}

}  // namespace shardscope
