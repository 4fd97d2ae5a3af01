#include "engine/shard/layout_cost.h"

#include <algorithm>
#include <cmath>
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

int LayoutCosts::type_id(const TensorType& type, double counted_share) {
  const ArrayType array{type, counted_share};
  uint64_t key = static_cast<uint64_t>(type.dtype);
  for (int64_t size : type.shape) key = mix(key, static_cast<uint64_t>(size));
  auto [first, last] = type_index_.equal_range(key);
  for (; first != last; ++first) {
    if (types_[first->second] == array) return first->second;
  }
  types_.push_back(array);
  type_index_.emplace(key, static_cast<int>(types_.size()) - 1);
  return static_cast<int>(types_.size()) - 1;
}

double LayoutCosts::local_bytes(int type, int layout) const {
  return static_cast<double>(types_[type].type.bytes() / shard_count(layouts_[layout], mesh_));
}

LayoutCosts::Entry LayoutCosts::price(uint64_t key, const ArrayType& array, const Sharding& from, const Sharding& to) {
  const TensorType& type = array.type;
  Entry entry{key, {infinite_cost, 0, infinite_cost}, steps_.size(), 0};
  if (!can_reshard(from, to)) return entry;
  entry.cost = {};
  Sharding current = from;
  const std::vector<ReshardStep> path = reshard_path(from, to, mesh_);
  const double moved = exchanges_blocks(path) ? array.counted_share : 1;
  for (const ReshardStep& step : path) {
    PricedStep priced{step.kind, step.axes, step.reduction, layout_id(step.result), 0, 0};
    if (step.kind == InstructionKind::slice) {
      const int64_t bytes = type.bytes() / shard_count(step.result, mesh_);
      if (prices_) priced.seconds = prices_->slice(2 * static_cast<double>(bytes));
    } else {
      entry.cost.wire_bytes += shardscope::wire_bytes(step, current, mesh_, type, &priced.payload);
      priced.payload = std::floor(priced.payload) * moved;
      ++entry.cost.collectives;
      if (prices_) priced.seconds = prices_->collective(step.kind, priced.payload, step.axes);
    }
    entry.cost.seconds += priced.seconds;
    steps_.push_back(priced);
    current = step.result;
  }
  entry.step_count = steps_.size() - entry.first_step;
  return entry;
}

LayoutCosts::Entry& LayoutCosts::slot(uint64_t key) {
  const size_t mask = costs_.size() - 1;
  size_t slot = mix(0, key) & mask;
  while (costs_[slot].key != 0 && costs_[slot].key != key) slot = (slot + 1) & mask;
  return costs_[slot];
}

const LayoutCosts::Entry& LayoutCosts::entry_of(int type, int from, int to) {
  if (from == to) return nothing_;
  if (2 * cost_count_ >= costs_.size()) {
    std::vector<Entry> before = std::exchange(costs_, std::vector<Entry>(std::max<size_t>(1024, 2 * costs_.size())));
    for (const Entry& old : before) {
      if (old.key != 0) slot(old.key) = old;
    }
  }
  const uint64_t key =
      (static_cast<uint64_t>(type + 1) << 40) | (static_cast<uint64_t>(from) << 20) | static_cast<uint64_t>(to);
  Entry& found = slot(key);
  if (found.key == 0) {
    found = price(key, types_[type], Sharding(layouts_[from]), Sharding(layouts_[to]));
    ++cost_count_;
  }
  return found;
}

std::span<const PricedStep> LayoutCosts::path(int type, int from, int to) {
  const Entry& entry = entry_of(type, from, to);
  return std::span(steps_).subspan(entry.first_step, entry.step_count);
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
