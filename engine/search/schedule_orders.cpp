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

InFlight in_flight_of(const PipelineSchedule& schedule, const PipelineShape& shape) {
  const auto chunks = static_cast<size_t>(shape.stages * shape.chunks);
  InFlight most{std::vector<int>(chunks, 1), std::vector<int>(chunks, 1), std::vector<int>(chunks)};
  const PipelineOrder order = shape.microbatches > 0 ? schedule.order(shape) : PipelineOrder();
  for (size_t s = 0; s < order.size(); ++s) {
    struct Done {
      int forward = 0, backward = 0, weights = 0;
    };
    std::vector<Done> done(chunks);
    for (const WorkItem& item : order[s]) {
      const size_t c = static_cast<size_t>(item.chunk * shape.stages) + s;
      Done& now = done[c];
      if (item.work == Work::forward) ++now.forward;
      if (item.work == Work::backward || item.work == Work::backward_input) ++now.backward;
      if (item.work == Work::backward || item.work == Work::backward_weight) ++now.weights;
      most.until_backward[c] = std::max(most.until_backward[c], now.forward - now.backward);
      most.until_weights[c] = std::max(most.until_weights[c], now.forward - now.weights);
      most.between_halves[c] = std::max(most.between_halves[c], now.backward - now.weights);
    }
  }
  return most;
}

InFlight most_in_flight(const PipelineSchedule& schedule, PipelineShape shape, int64_t counted_items) {
  const int microbatches = shape.microbatches;
  const int64_t most_microbatches = counted_items / 2 / shape.stages / shape.chunks / shape.stages * shape.stages;
  shape.microbatches = static_cast<int>(std::min<int64_t>(microbatches, most_microbatches));
  const int few = 3 * shape.stages;
  if (shape.microbatches > few) {
    PipelineShape shorter = shape;
    shorter.microbatches = few;
    InFlight most = in_flight_of(schedule, shorter);
    if (std::ranges::max(most.until_weights) < few) return most;
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

std::shared_ptr<const InFlight> ScheduleOrders::in_flight(const PipelineSchedule& schedule,
                                                          const PipelineShape& shape) {
  return once(in_flight_, schedule, shape, [&] { return most_in_flight(schedule, shape, counted_items); });
}

}  // namespace shardscope
