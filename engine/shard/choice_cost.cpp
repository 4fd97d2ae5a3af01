#include "engine/shard/choice_cost.h"

#include <algorithm>
#include <array>
#include <limits>

namespace shardscope {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

}  // namespace

double ChoiceCost::seconds(const std::vector<ValueCost>& values) const {
  double total = 0;
  for (const OpNode& op : tables_.ops) total += tables_.table(op).seconds(op.chosen) * op.runs;
  for (size_t v = 0; v < values.size(); ++v) total += values[v].seconds * tables_.values[v].count;
  return total;
}

double ChoiceCost::held_bytes(const std::vector<ValueCost>& values) const {
  double total = 0;
  for (size_t v = 0; v < values.size(); ++v) total += values[v].held * tables_.values[v].count;
  return total;
}

double ChoiceCost::stored_bytes() const {
  double total = 0;
  for (const ValueNode& value : tables_.values) {
    if (value.producer < 0) total += tables_.costs.local_bytes(value.type, value.pin) * value.count;
  }
  return total;
}

double ChoiceCost::memory_bytes(const std::vector<ValueCost>& values) const {
  double largest = 0;
  for (const OpNode& op : tables_.ops) largest = std::max(largest, tables_.table(op).bytes(op.chosen));
  return stored_bytes() + held_bytes(values) + largest;
}

ValueCost ChoiceCost::value(const ValueNode& value) {
  ValueCost kept = value_at(value, value.pin, false);
  if (price == 0 || kept.held == 0) return kept;
  ValueCost again = value_at(value, value.pin, true);
  return objective(again) < objective(kept) ? again : kept;
}

// Brings a value from where it is defined to every layout that its uses need. With `regather`, layouts made in
// forward are given up before backward.
ValueCost ChoiceCost::value_at(const ValueNode& value, int pin, bool regather) {
  std::array<int, 16> made;
  std::array<bool, 16> saved{};  // made in forward, used in backward
  size_t count = 1;
  ValueCost cost{0, 0, regather};
  const bool forward = value.producer >= 0 && tables_.ops[value.producer].phase == Phase::forward;
  const bool once = value.producer >= 0 && tables_.ops[value.producer].once;
  if (value.producer >= 0) {
    const OpNode& op = tables_.ops[value.producer];
    made[0] = tables_.table(op).result(op.chosen, value.result);
    if (pin >= 0 && pin != made[0]) {
      cost.seconds += tables_.costs.reshard(value.type, made[0], pin).seconds * (once ? 1 : tables_.repeats(op.phase));
      made[0] = pin;
    }
  } else {
    made[0] = pin;
  }
  size_t made_in_forward = 1;
  bool backward = false;
  for (auto [user, operand] : value.uses) {
    const OpNode& op = tables_.ops[user];
    if (op.phase != Phase::forward && !backward) {
      backward = true;
      if (regather) count = 1;
      made_in_forward = count;
    }
    const int needed = tables_.table(op).operand(op.chosen, operand);
    const LayoutCosts::Source source = tables_.costs.cheapest_source(value.type, {made.data(), count}, needed);
    if (source.position < 0) return {infinity, 0, false};
    if (backward) saved[source.position] = true;
    if (made[source.position] == needed) continue;
    cost.seconds += source.cost.seconds * (once && !regather ? 1 : tables_.repeats(op.phase));
    if (count < made.size()) made[count++] = needed;
  }
  if (!limited_) return cost;
  for (size_t i = 0; i < made_in_forward; ++i) {
    const bool stays = i == 0 ? forward : value.producer < 0 || forward;
    if (saved[i] && stays) cost.held += tables_.costs.local_bytes(value.type, made[i]);
  }
  return cost;
}

}  // namespace shardscope
