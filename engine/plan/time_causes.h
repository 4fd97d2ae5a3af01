#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/plan/plan.h"

namespace shardscope {

// "blocks_3/mlp/add" -> "blocks_*/mlp/add": what is alike in all layers has one name.
std::string pattern_of(const std::string& name);

// What an instruction's time counts for: "einsum blocks_*/mlp/w1 (backward)", "all-gather of params/layers/*/w1 over
// model", "messages between stages". Of a done it is its start's.
std::string cause_name(const Plan& plan, int stage, int position);

// A part of a predicted step: what a device of one stage is busy with, or waits for.
struct TimeCause {
  std::string name;
  double seconds = 0;     // of the step; of collectives those in which nothing else runs
  double hidden = 0;      // of collectives: in which they run beside computation, also where the stack hides them
  std::string behind;     // the computation that hides most of it
  double wire_bytes = 0;  // that the device sends in a step
  int count = 0;          // instructions of a step
};

// The stage that works longest, in the order of their seconds; with what it waits for other stages they are the step's
// time.
std::vector<TimeCause> time_causes(const Plan& plan);

inline constexpr const char* waiting_cause = "waiting for other stages";

}  // namespace shardscope
