#pragma once

#include <vector>

#include "engine/lint/lint.h"

namespace shardscope {

// One setting changed by one notch: an axis of half as many devices and another of twice as many, twice or half as many
// microbatches, another policy of rematerialisation, a ZeRO stage more or less, two neighbouring axes in each other's
// place, another pipeline schedule, overlap or layout mode.
struct Notch {
  Settings settings;
  RunConfig config;  // with them
  PlanCost after;    // of the plan with it
};

struct WhatNext {
  PlanCost now;
  std::vector<Notch> notches;  // those that are legal: less excess of memory first, then the shorter step
};

// Plans each of them. Throws Cancelled.
WhatNext what_next(const Plan& plan, const LintChoice& choice = {}, std::stop_token stop = {});

}  // namespace shardscope
