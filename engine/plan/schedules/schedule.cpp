#include "engine/plan/schedules/schedule.h"

#include <algorithm>

#include "engine/plan/schedules/schedules.h"

namespace shardscope {

const std::vector<PipelineSchedule>& all_schedules() {
  static const std::vector<PipelineSchedule> all{gpipe(), one_f_one_b(), interleaved(), zero_bubble()};
  return all;
}

const PipelineSchedule* find_schedule(const std::string& name) {
  const auto found = std::ranges::find(all_schedules(), name, &PipelineSchedule::name);
  return found == all_schedules().end() ? nullptr : &*found;
}

std::vector<int> microbatches_in_flight(const PipelineOrder& order) {
  std::vector<int> most;
  for (const std::vector<WorkItem>& device : order) {
    int held = 0, peak = 0;
    for (const WorkItem& item : device) {
      if (item.work == Work::forward) peak = std::max(peak, ++held);
      if (item.work == Work::backward || item.work == Work::backward_weight) --held;
    }
    most.push_back(peak);
  }
  return most;
}

}  // namespace shardscope
