#include "engine/shard/layout_cost.h"

#include <algorithm>
#include <limits>

namespace shardscope {

namespace {

uint64_t fingerprint(const Sharding& sharding) {
  uint64_t hash = 1469598103934665603ull + sharding.rank * 31u + sharding.partial;
  for (int d = 0; d < sharding.rank; ++d) {
    hash = (hash ^ 0x9eu) * 1099511628211ull;
    for (AxisIndex axis : sharding.dims[d]) hash = (hash ^ (axis + 1u)) * 1099511628211ull;
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
  CostedType wanted{type, latency_share};
  auto found = std::find(types_.begin(), types_.end(), wanted);
  if (found == types_.end()) found = types_.insert(types_.end(), wanted);
  return static_cast<int>(found - types_.begin());
}

float LayoutCosts::reshard_seconds(int type, int from, int to) {
  if (from == to) return 0;
  uint64_t key = (static_cast<uint64_t>(type) << 40) | (static_cast<uint64_t>(from) << 20) | static_cast<uint64_t>(to);
  auto [entry, added] = seconds_.try_emplace(key, 0.0f);
  if (!added) return entry->second;
  const Sharding &source = layouts_[from], &target = layouts_[to];
  if (!can_reshard(source, target)) return entry->second = std::numeric_limits<float>::infinity();
  const auto& [array, latency_share] = types_[type];
  double seconds = 0;
  Sharding current = source;
  for (const ReshardStep& step : reshard_path(source, target, mesh_)) {
    if (step.kind == ReshardKind::slice) {
      double bytes = static_cast<double>(array.bytes());
      for (int d = 0; d < step.result.rank; ++d) bytes /= static_cast<double>(shard_count(step.result, mesh_, d));
      seconds += rates_.seconds_per_step + 2 * bytes * rates_.seconds_per_byte;
    } else {
      seconds += rates_.seconds_per_collective * latency_share +
                 wire_bytes(step, current, mesh_, array) * rates_.seconds_per_wire_byte;
    }
    current = step.result;
  }
  return entry->second = static_cast<float>(seconds);
}

}  // namespace shardscope
