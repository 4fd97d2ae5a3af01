#pragma once

#include "engine/plan/device_profile.h"
#include "engine/plan/plan.h"
#include "engine/shard/layout_cost.h"

namespace shardscope {

// One rank's share of the profile's machine, when `ranks` of them run on it.
CostRates cost_rates(const DeviceProfile& profile, int ranks);

// Predicted time of a step, by the prices of the layout search (layout_cost.h).
double step_seconds(const Step& step, const Program& program, const Graph& graph, const CostRates& rates);

// Fills Step::seconds and the totals of bytes, FLOPs and time.
void predict_time(Program& program, const Graph& graph, const CostRates& rates, PlanTotals& totals);

}  // namespace shardscope
