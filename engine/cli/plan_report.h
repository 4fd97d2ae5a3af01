#pragma once

#include <string>

#include "engine/plan/plan.h"

namespace shardscope {

// A plan as JSON for scripts. Bytes are per device; a collective's `bytes` is its payload n (the full size),
// `wire_bytes` what each device sends by the ring convention, `count` how often it happens in a step, `arrays` how many
// arrays it carries.
std::string plan_json(const Plan& plan);

// The same as tables for a person: parameters, memory, collectives, totals.
std::string plan_text(const Plan& plan);

}  // namespace shardscope
