#pragma once

#include <string>
#include <vector>

#include "engine/config/run_config.h"
#include "engine/machine/machine.h"

namespace shardscope {

// What links see of the order of a strategy's axes: that within the units of the outermost level, where these have
// whole axes, since all ways between them are alike. Where neighbours have links of their own the order itself. Plans
// of strategies that differ in nothing else take the same time and memory.
//
// Example: on nodes of 8 devices under one switch, data 4 x pipeline 2 x tensor 8 and pipeline 2 x data 4 x tensor 8
// both have "tensor ".
std::string order_on_links(const StrategyConfig& strategy, const std::vector<Level>& levels);

}  // namespace shardscope
