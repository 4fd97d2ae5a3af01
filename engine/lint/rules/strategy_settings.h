#pragma once

#include "engine/lint/rules/lint_rule.h"

namespace shardscope {

// The same change where the run file has a strategy, which says mesh, ZeRO, microbatches, recompute and pipeline
// itself: "mesh.axes[1].size=4" is "strategy.tensor=4", an order of axes "strategy.order", "sharding.zero.stage=1"
// "strategy.zero=1". As they are without a strategy; empty where a microbatch would have no row.
Settings by_strategy(const LintSubject& subject, Settings settings);

}  // namespace shardscope
