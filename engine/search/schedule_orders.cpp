#include "engine/search/schedule_orders.h"

#include <algorithm>

namespace shardscope {

const PipelineSchedule& schedule_of(const StrategyConfig& strategy) {
  const bool interleaved = strategy.virtual_stages > 1 && strategy.pipeline_schedule == "1f1b";
  return *find_schedule(interleaved ? "interleaved" : strategy.pipeline_schedule);
}

PipelineShape shape_of(const StrategyConfig& strategy, int64_t microbatches) {
  return {static_cast<int>(strategy.pipeline), static_cast<int>(strategy.virtual_stages),
          static_cast<int>(microbatches)};
}

std::shared_ptr<const PipelineOrder> ScheduleOrders::order(const PipelineSchedule& schedule,
                                                           const PipelineShape& shape) {
  const Key key(schedule.name, shape.stages, shape.chunks, shape.microbatches);
  {
    const std::lock_guard lock(mutex_);
    if (const auto at = orders_.find(key); at != orders_.end()) return at->second;
  }
  auto made = std::make_shared<const PipelineOrder>(schedule.order(shape));
  const std::lock_guard lock(mutex_);
  return orders_.try_emplace(key, std::move(made)).first->second;
}

std::shared_ptr<const std::vector<int>> ScheduleOrders::in_flight(const PipelineSchedule& schedule,
                                                                  const PipelineShape& shape) {
  const Key key(schedule.name, shape.stages, shape.chunks, shape.microbatches);
  {
    const std::lock_guard lock(mutex_);
    if (const auto at = in_flight_.find(key); at != in_flight_.end()) return at->second;
  }
  std::vector<int> most(static_cast<size_t>(shape.stages * shape.chunks), 1);
  PipelineShape counted = shape;
  const int64_t most_microbatches = counted_items / 2 / shape.stages / shape.chunks / shape.stages * shape.stages;
  counted.microbatches = static_cast<int>(std::min<int64_t>(shape.microbatches, most_microbatches));
  const PipelineOrder order = counted.microbatches > 0 ? schedule.order(counted) : PipelineOrder();
  for (size_t s = 0; s < order.size(); ++s) {
    std::vector<int> now(most.size());
    for (const WorkItem& item : order[s]) {
      const size_t c = static_cast<size_t>(item.chunk * shape.stages) + s;
      if (item.work == Work::forward) most[c] = std::max(most[c], ++now[c]);
      else if (item.work != Work::backward_weight) --now[c];
    }
  }
  auto made = std::make_shared<const std::vector<int>>(std::move(most));
  const std::lock_guard lock(mutex_);
  return in_flight_.try_emplace(key, std::move(made)).first->second;
}

}  // namespace shardscope
