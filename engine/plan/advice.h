#pragma once

#include <optional>
#include <span>
#include <vector>

#include "engine/base/error.h"
#include "engine/plan/plan.h"

namespace shardscope {

// The advice of "Model Parallelism" (Workshop) as checks: what a plan may be, and is better not. Not among its
// warnings, which each training repeats.

// Shares beyond which it is said. Communication of a step is the document's number; arenas of the presets are under 6 %
// fragmented.
inline constexpr double most_communication = 0.2, most_fragmentation = 0.1, most_imbalance = 0.1;
inline constexpr int64_t least_fragmented_bytes = 1 << 20;  // an unused MiB is worth a word

// That collectives and transfers take more than 20 % of a predicted step ("communication", of the stage that has most
// of it, at the mesh axis that most of it is over), and that at its peak more than 10 % of the arena is unused
// ("fragmentation"); and of a pipeline stage_imbalance().
std::vector<Error> advice(const Plan& plan);

// That the slowest of a pipeline's stages makes the others idle for more than `most_idle` of its time, mean over all
// stages ("imbalance", at `place`). `stage_seconds`: what each stage computes for a microbatch, forward and backward.
std::optional<Error> stage_imbalance(std::span<const double> stage_seconds, Place place,
                                     double most_idle = most_imbalance);

}  // namespace shardscope
