#pragma once

#include <string>
#include <vector>

#include "engine/base/options.h"
#include "engine/ops/schedule.h"

namespace shardscope {

// What an optimizer may be given of its learning rate: learning_rate, and the schedule with Optax's names for its
// arguments (engine/ops/schedule.h). Options of an optimizer that has none mean a constant rate of 0.
std::vector<OptionDefinition> learning_rate_options(double example);
Schedule learning_rate(const OptionList& options);

// Faults between these options: a schedule that lacks its steps; with places "optimizer.decay_steps".
std::vector<Error> check_learning_rate(const OptionList& options);
// The options of other schedules than the one that is named.
std::vector<std::string> idle_schedule_options(const OptionList& options);
// Those of them that are given all the same.
std::vector<Error> unused_schedule_options(const OptionList& options);

}  // namespace shardscope
