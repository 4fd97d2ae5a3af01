#pragma once

#include <string>
#include <vector>

#include "engine/compare/plan_difference.h"

namespace shardscope {

// A difference as people read it: the same rows on the command line and in the window.
struct DifferenceRow {
  std::string name, before, after;
  std::string change;  // "+12.3 ms"; empty where it is no number
};
struct DifferenceSection {
  std::string title;       // "Predicted time of a step by cause"
  std::string name_title;  // "Cause"
  bool has_changes = false;
  std::vector<DifferenceRow> rows;  // in the order of PlanDifference; none: nothing differs
};
// Settings, time, hidden communication, memory, traffic and shardings, in this order; what is alike in both has no row.
std::vector<DifferenceSection> difference_sections(const PlanDifference& difference);

// "Predicted step: 12.1 ms -> 13.2 ms (+1.10 ms)"
std::string step_difference_text(const PlanDifference& difference);

}  // namespace shardscope
