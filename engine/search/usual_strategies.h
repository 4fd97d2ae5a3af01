#pragma once

#include <cstdint>
#include <utility>

#include "engine/config/run_config.h"
#include "engine/machine/machine.h"

namespace shardscope {

int64_t devices_of_node(const Machine& machine);  // of a unit of the innermost level

// As people begin: tensor parallelism within a node, sequence parallel; context parallelism of up to 8; 1F1B,
// interleaved or not, or zero bubble, with ZeRO 1; or without a pipeline parameters split over all replicas.
bool is_usual(const StrategyConfig& strategy, const Machine& machine);

// 1F1B, one sequence at a time, all recomputed, without context parallelism and virtual stages.
bool is_frugal(const StrategyConfig& strategy);

// Whether layers are split and run alike, on whatever stages and by however many replicas; `a` has no virtual stages.
bool has_equal_layers(const StrategyConfig& a, const StrategyConfig& b);

// Less where fewer devices share a replica, and of equal ones where more experts are apart.
std::pair<int64_t, int64_t> split_of_replica(const StrategyConfig& strategy);

}  // namespace shardscope
