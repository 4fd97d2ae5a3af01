#pragma once

#include <string>
#include <vector>

#include "engine/compile/setting_changes.h"
#include "engine/plan/plan.h"
#include "engine/plan/time_causes.h"

namespace shardscope {

// What differs between two plans, each list with what differs most first. Instructions that are alike in all layers
// are one line ("layers_*"), as are arrays of several layers that are sharded alike, before and after.
struct PlanDifference {
  struct Layout {
    std::string array;
    bool is_parameter = false;
    std::string before, after;  // as JAX writes it; empty: there is no such array
    int count = 1, of = 1;      // arrays that differ so, of those whose names differ in numbers alone
  };
  // A collective, or what stages send each other.
  struct Traffic {
    std::string name;                          // cause_name()
    int before = 0, after = 0;                 // how many in a step
    double before_bytes = 0, after_bytes = 0;  // that a device sends in a step
    const char* what() const;                  // "added", "removed", "larger", "smaller"
  };
  struct Memory {
    std::string category;  // "total" first
    int64_t before = 0, after = 0;
  };
  struct Time {
    std::string cause;
    double before = 0, after = 0;  // seconds of a step
    std::string note;  // "no longer hidden behind einsum layers_*/mlp", "new", "gone"; empty: nothing to say
  };

  struct Hidden {
    std::string cause;
    double before = 0, after = 0;  // seconds of a step in which it runs beside computation
  };

  std::vector<SettingChange> settings;
  std::vector<Layout> layouts;
  std::vector<Traffic> traffic;
  std::vector<Memory> memory;  // of the heaviest device
  std::vector<Time> times;     // their differences add up to that of the step
  std::vector<Hidden> hidden;
  double before_seconds = 0, after_seconds = 0;  // of a step
};
PlanDifference difference_of(const Plan& before, const Plan& after);

}  // namespace shardscope
