#pragma once

#include <optional>
#include <string>

#include "engine/compare/plan_difference.h"
#include "engine/compare/run_difference.h"

namespace shardscope {

// Two plans, and what was measured of them.
struct DiffReport {
  PlanDifference plans;
  std::optional<RunDifference> runs;                // where both are recorded runs
  std::optional<MeanInterval> before_ms, after_ms;  // step times of each that is one
};
DiffReport diff_report(const ExportSource& before, const ExportSource& after);

// Tables for a person: settings, time by cause, memory, collectives, shardings, and what was measured; of long ones the
// first lines, with how many more there are. For scripts all of them.
std::string diff_text(const DiffReport& report);
std::string diff_json(const DiffReport& report);

}  // namespace shardscope
