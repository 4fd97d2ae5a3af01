#include "engine/search/schedule_orders.h"

#include <algorithm>

#include "engine/config/strategy.h"

namespace shardscope {

const PipelineSchedule& schedule_of(const StrategyConfig& strategy) {
  return *find_schedule(pipeline_schedule(strategy));
}

PipelineShape shape_of(const StrategyConfig& strategy, int64_t microbatches) {
  return {static_cast<int>(strategy.pipeline), static_cast<int>(strategy.virtual_stages),
          static_cast<int>(microbatches)};
}

namespace {

std::vector<int> in_flight_of(const PipelineSchedule& schedule, const PipelineShape& shape) {
  std::vector<int> most(static_cast<size_t>(shape.stages * shape.chunks), 1);
  const PipelineOrder order = shape.microbatches > 0 ? schedule.order(shape) : PipelineOrder();
  for (size_t s = 0; s < order.size(); ++s) {
    std::vector<int> now(most.size());
    for (const WorkItem& item : order[s]) {
      const size_t c = static_cast<size_t>(item.chunk * shape.stages) + s;
      if (item.work == Work::forward) most[c] = std::max(most[c], ++now[c]);
      else if (item.work != Work::backward_weight) --now[c];
    }
  }
  return most;
}

std::vector<int> most_in_flight(const PipelineSchedule& schedule, PipelineShape shape, int64_t counted_items) {
  const int microbatches = shape.microbatches;
  const int64_t most_microbatches = counted_items / 2 / shape.stages / shape.chunks / shape.stages * shape.stages;
  shape.microbatches = static_cast<int>(std::min<int64_t>(microbatches, most_microbatches));
  const int few = 3 * shape.stages;
  if (shape.microbatches > few) {
    PipelineShape shorter = shape;
    shorter.microbatches = few;
    std::vector<int> most = in_flight_of(schedule, shorter);
    if (std::ranges::max(most) < few) return most;
  }
  return in_flight_of(schedule, shape);
}

}  // namespace

template <class T, class Make>
std::shared_ptr<const T> ScheduleOrders::once(Known<T>& known, const PipelineSchedule& schedule,
                                              const PipelineShape& shape, const Make& make) {
  const Key key(schedule.name, shape.stages, shape.chunks, shape.microbatches);
  {
    const std::lock_guard lock(mutex_);
    if (const auto at = known.find(key); at != known.end()) return at->second;
  }
  auto made = std::make_shared<const T>(make());
  const std::lock_guard lock(mutex_);
  return known.try_emplace(key, std::move(made)).first->second;
}

std::shared_ptr<const PipelineOrder> ScheduleOrders::order(const PipelineSchedule& schedule,
                                                           const PipelineShape& shape) {
  return once(orders_, schedule, shape, [&] { return schedule.order(shape); });
}

std::shared_ptr<const std::vector<int>> ScheduleOrders::in_flight(const PipelineSchedule& schedule,
                                                                  const PipelineShape& shape) {
  return once(in_flight_, schedule, shape, [&] { return most_in_flight(schedule, shape, counted_items); });
}

}  // namespace shardscope
