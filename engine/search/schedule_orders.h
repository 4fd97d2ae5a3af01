#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <tuple>
#include <vector>

#include "engine/config/run_config.h"
#include "engine/plan/schedules/schedule.h"

namespace shardscope {

// The schedule that a strategy with a pipeline has.
const PipelineSchedule& schedule_of(const StrategyConfig& strategy);
PipelineShape shape_of(const StrategyConfig& strategy, int64_t microbatches);

// By chunk of the network: microbatches that it has at a time, at most, from the end of their forward until backward
// has begun, or its second half where it is split; and between the two halves, where it is not split none.
struct InFlight {
  std::vector<int> until_backward, until_weights, between_halves;
};

// What pipelines of a shape do, each found once. For several threads at a time.
class ScheduleOrders {
 public:
  std::shared_ptr<const PipelineOrder> order(const PipelineSchedule& schedule, const PipelineShape& shape);

  // Three microbatches for each stage count, where not all of these are in flight at a time, and of long orders
  // `counted_items`: in what follows, other microbatches take the places of those before.
  std::shared_ptr<const InFlight> in_flight(const PipelineSchedule& schedule, const PipelineShape& shape);

 private:
  static constexpr int64_t counted_items = 65536;
  using Key = std::tuple<std::string, int, int, int>;
  template <class T>
  using Known = std::map<Key, std::shared_ptr<const T>>;

  template <class T, class Make>
  std::shared_ptr<const T> once(Known<T>& known, const PipelineSchedule& schedule, const PipelineShape& shape,
                                const Make& make);

  std::mutex mutex_;
  Known<PipelineOrder> orders_;
  Known<InFlight> in_flight_;
};

}  // namespace shardscope
