#include "engine/session/decimated_steps.h"

#include <cmath>
#include <set>

namespace shardscope {

namespace {

// The time, then the metrics.
size_t value_count(const StepMessage& step) { return 1 + step.metrics.size(); }
double value_at(const StepMessage& step, size_t i) { return i == 0 ? step.step_ms : step.metrics[i - 1].value; }

void keep_extremes(std::map<int64_t, StepMessage>& bucket) {
  if (bucket.size() <= 2) return;
  std::set<int64_t> kept;
  const size_t count = value_count(bucket.begin()->second);
  for (size_t i = 0; i < count; ++i) {
    const StepMessage *low = nullptr, *high = nullptr, *lost = nullptr;
    for (const auto& [number, step] : bucket) {
      if (i >= value_count(step)) continue;
      const double value = value_at(step, i);
      if (!std::isfinite(value)) {
        lost = lost ? lost : &step;
        continue;
      }
      if (!low || value < value_at(*low, i)) low = &step;
      if (!high || value > value_at(*high, i)) high = &step;
    }
    for (const StepMessage* step : {low, high, lost}) {
      if (step) kept.insert(step->step);
    }
  }
  std::erase_if(bucket, [&](const auto& entry) { return !kept.contains(entry.first); });
}

}  // namespace

void DecimatedSteps::add(const StepMessage& step) {
  Bucket& bucket = buckets_[step.step / width_];
  bucket[step.step] = {step.step, step.metrics, step.step_ms, {}};
  keep_extremes(bucket);
  while (buckets_.size() > most_buckets) {
    width_ *= 2;
    std::map<int64_t, Bucket> wider;
    for (auto& [index, old] : buckets_) wider[index / 2].merge(old);
    buckets_ = std::move(wider);
    for (auto& [index, merged] : buckets_) keep_extremes(merged);
  }
}

void DecimatedSteps::erase_from(int64_t step) {
  buckets_.erase(buckets_.lower_bound(step / width_ + 1), buckets_.end());
  const auto last = buckets_.find(step / width_);
  if (last == buckets_.end()) return;
  last->second.erase(last->second.lower_bound(step), last->second.end());
  if (last->second.empty()) buckets_.erase(last);
}

std::vector<StepMessage> DecimatedSteps::steps() const {
  std::vector<StepMessage> list;
  for (const auto& [index, bucket] : buckets_) {
    for (const auto& [number, step] : bucket) list.push_back(step);
  }
  return list;
}

}  // namespace shardscope
