#pragma once

#include <span>

namespace shardscope {

// Share of the time for which stages wait for the slowest, mean over all; 0 of fewer than two. `stage_seconds`: what
// each computes for a microbatch, forward and backward. Above it stages are out of balance.
inline constexpr double most_imbalance = 0.1;
double stage_imbalance(std::span<const double> stage_seconds);

}  // namespace shardscope
