#include "engine/shard/choice_cost.h"

#include <algorithm>

namespace shardscope {

double ChoiceCost::seconds(const std::vector<ValueCost>& values) const {
  double total = buckets_.seconds();
  for (const OpNode& op : tables_.ops) total += tables_.table(op).seconds(op.chosen) * op.runs;
  for (size_t v = 0; v < values.size(); ++v) total += values[v].seconds * tables_.values[v].count;
  return total;
}

double ChoiceCost::held_bytes(const std::vector<ValueCost>& values) const {
  double total = 0;
  for (size_t v = 0; v < values.size(); ++v) total += values[v].held * tables_.values[v].count;
  return total;
}

double ChoiceCost::least_bytes() const {
  double total = 0;
  for (const ValueNode& value : tables_.values) {
    const bool is_kept = std::ranges::any_of(value.uses, [&](const std::pair<int, int>& use) {
      return tables_.ops[static_cast<size_t>(use.first)].part == TaskPart::backward;
    });
    if (value.producer < 0) {
      total += tables_.costs.local_bytes(value.type, value.pin) * value.count;
    } else if (is_kept && tables_.ops[static_cast<size_t>(value.producer)].part == TaskPart::forward) {
      total += static_cast<double>(tables_.costs.type(value.type).bytes()) / tables_.devices * value.count;
    }
  }
  return total / tables_.stages;
}

void ChoiceCost::refresh(std::vector<ValueCost>& values) {
  buckets_.clear();
  values.assign(tables_.values.size(), {});
  for (size_t v = 0; v < values.size(); ++v) {
    ValueCost fresh = value(tables_.values[v]);
    exchange(tables_.values[v], values[v], fresh);
    values[v] = std::move(fresh);
  }
}

double ChoiceCost::exchange(const ValueNode& value, const ValueCost& before, const ValueCost& after) {
  double more = 0;
  const double now = objective(after), then = objective(before);
  if (now != infinite_cost || then != infinite_cost) more += (now - then) * value.count;
  if (before.shares == after.shares) return more;
  for (const ValueCost::Share& share : before.shares) more += buckets_.add(share.bucket, -share.bytes * value.count);
  for (const ValueCost::Share& share : after.shares) more += buckets_.add(share.bucket, share.bytes * value.count);
  return more;
}

double ChoiceCost::savable(const ValueNode& value, const ValueCost& cost) const {
  double most = objective(cost) * value.count;
  for (const ValueCost::Share& share : cost.shares) most += buckets_.seconds(share.bucket);
  return most;
}

double ChoiceCost::seconds_as_written() {
  buckets_.clear();
  std::vector<ValueCost> values;
  for (const ValueNode& value : tables_.values) {
    values.push_back(value_at(value, value.start_pin, value.start_reshard_after_forward));
    exchange(value, {}, values.back());
  }
  return seconds(values);
}

ValueCost ChoiceCost::value(const ValueNode& value) {
  ValueCost kept = value_at(value, value.pin, false);
  if (price == 0 || kept.held == 0) return kept;
  ValueCost again = value_at(value, value.pin, true);
  const auto all = [&](const ValueCost& cost) {
    double total = objective(cost);
    for (const ValueCost::Share& share : cost.shares) total += buckets_.increase(share.bucket, share.bytes);
    return total;
  };
  return all(again) < all(kept) ? again : kept;
}

// Brings a value from where it is defined to every layout that its uses need, in the order in which lower() does.
ValueCost ChoiceCost::value_at(const ValueNode& value, int pin, bool reshard_after_forward) {
  ValueCost cost;
  cost.reshard_after_forward = reshard_after_forward;
  define(value, pin, cost);
  if (!counts_bytes && !value.is_reported && is_used_as_defined(value)) return cost;
  const bool reshards_for_update =
      !value.small && !tables_.apart_from_update && made_[0].making.task == static_cast<int>(TaskPart::backward);
  const auto is_laid_for = [&](TaskPart task, int needed) {
    return reshards_for_update && task == TaskPart::update &&
           tables_.costs.shards(needed) >= tables_.costs.shards(made_[0].id);
  };
  for (bool early : {true, false}) {
    if (early && !reshards_for_update) continue;
    for (auto [user, operand] : value.uses) {
      const OpNode& op = tables_.ops[user];
      const int needed = tables_.table(op).operand(op.chosen, operand);
      if (early != is_laid_for(op.part, needed)) continue;
      const bool reached = use(value, op, needed, early ? TaskPart::backward : op.part, reshard_after_forward, cost);
      if (!reached) return {infinite_cost, 0, false, {}};
    }
  }
  if (value.is_reported) finish_reported(value, cost);
  if (!counts_bytes) return cost;
  for (int i = 0; i < made_count_; ++i) {
    const bool stays = i > 0 || made_[0].making.task >= 0;
    if (made_[i].saved && stays) cost.held += tables_.costs.local_bytes(value.type, made_[i].id);
  }
  return cost;
}

void ChoiceCost::define(const ValueNode& value, int pin, ValueCost& cost) {
  made_count_ = 0;
  if (value.producer < 0) return add_made({pin, {}});
  const OpNode& op = tables_.ops[value.producer];
  const int made = tables_.table(op).result(op.chosen, value.result);
  add_made({pin >= 0 ? pin : made, {static_cast<int>(op.part)}});
  if (pin >= 0 && pin != made)
    cost.seconds += tables_.costs.reshard(value.type, made, pin).seconds * tables_.runs(op.part);
}

bool ChoiceCost::is_used_as_defined(const ValueNode& value) {
  return std::ranges::all_of(value.uses, [&](const std::pair<int, int>& use) {
    const OpNode& op = tables_.ops[use.first];
    return tables_.table(op).operand(op.chosen, use.second) == made_[0].id;
  });
}

bool ChoiceCost::use(const ValueNode& value, const OpNode& user, int needed, TaskPart task, bool reshard_after_forward,
                     ValueCost& cost) {
  const bool backward = task == TaskPart::backward;
  std::array<int, most_layouts> kept, ids;
  size_t count = 0;
  for (int i = 0; i < made_count_; ++i) {
    const Making& making = made_[i].making;
    const bool here = making.task == static_cast<int>(task);
    if (here ? making.section == Section::closing : reshard_after_forward && i > 0) continue;
    if (made_[i].id == needed) {
      made_[i].saved |= backward && !here;
      return true;
    }
    kept[count] = i;
    ids[count++] = made_[i].id;
  }
  const LayoutCosts::Source source = tables_.costs.cheapest_source(value.type, std::span(ids).first(count), needed);
  if (source.position < 0) return false;
  Layout& from = made_[kept[static_cast<size_t>(source.position)]];
  from.saved |= backward && from.making.task != static_cast<int>(task);
  BucketKey place;
  place.task = task;
  const auto section = [&] {
    return section_of(value.small, made_[0].making.task, from.making, static_cast<int>(place.task));
  };
  if (user.takes_scalars_alone) {
    place.section = Section::before_op;
    place.op = static_cast<int>(&user - tables_.ops.data());
  } else if (value.is_of_step && !reshard_after_forward && is_repeated(task)) {
    place.task = TaskPart::begin;
    place.section = tables_.begins && value.small ? Section::closing : section();
  } else {
    place.section = section();
  }
  move(value, Layout(from), needed, place, cost);
  return true;
}

void ChoiceCost::move(const ValueNode& value, const Layout& from, int needed, const BucketKey& place, ValueCost& cost) {
  const double runs = tables_.runs(place.task);
  const double count = place.op < 0 ? 1 : tables_.ops[static_cast<size_t>(place.op)].count;
  const bool follows = from.making.task == static_cast<int>(place.task) && from.making.section == place.section;
  size_t stage = follows ? from.making.stages : 0;
  for (const PricedStep& step : tables_.costs.path(value.type, from.id, needed)) {
    const bool is_alone = place.section == Section::main || step.kind == InstructionKind::slice ||
                          step.kind == InstructionKind::collective_permute;
    if (is_alone) {
      cost.seconds += step.seconds * runs;
    } else if (latency_share) {
      cost.seconds += (step.seconds - (1 - *latency_share) * prices_.collective(step.kind, 0, step.axes)) * runs;
    } else {
      BucketKey key = place;
      key.stage = stage, key.kind = step.kind, key.axes = step.axes, key.reduction = step.reduction;
      const bool reduces = step.kind == InstructionKind::all_reduce || step.kind == InstructionKind::reduce_scatter;
      if (reduces) key.dtype = tables_.costs.type(value.type).dtype;
      cost.shares.push_back({buckets_.find(key, runs, count), step.payload});
    }
    if (step.kind != InstructionKind::slice) ++stage;
    add_made({step.layout, {static_cast<int>(place.task), place.section, stage}});
  }
}

// As a run's report has it: whole on every device.
void ChoiceCost::finish_reported(const ValueNode& value, ValueCost& cost) {
  BucketKey place;
  place.task = tables_.apart_from_update ? TaskPart::metrics : TaskPart::forward;
  place.section = Section::closing;
  const int whole =
      tables_.costs.layout_id(Sharding::replicated(static_cast<int>(tables_.costs.type(value.type).shape.size())));
  if (made_[0].id != whole) move(value, Layout(made_[0]), whole, place, cost);
}

}  // namespace shardscope
