#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/config/run_config.h"
#include "engine/lint/rules/axis_use.h"
#include "engine/plan/plan.h"

namespace shardscope {

// What rules look at: a plan, the run file that it was made of, and what its mesh axes do. All outlive it.
struct LintSubject {
  LintSubject(const Plan& plan, const RunConfig& config);

  const Plan& plan;
  const RunConfig& config;
  std::vector<AxisUse> axes;  // of the mesh

  double step_seconds() const { return plan.totals.seconds_per_step; }
};

// A change of the run file: `--set` assignments, which apply together.
using Settings = std::vector<std::string>;

// Something of a run file that makes its plan worse than it could be.
struct Fault {
  Place place;          // in the run file
  std::string message;  // what is wrong, with its numbers
  double seconds = 0;   // of a step, and bytes of the heaviest device, that it costs by the plan alone: an estimate,
  int64_t bytes = 0;    // for faults without a fix
  std::vector<Settings> fixes;  // to try, the likely ones first; those that are not legal are left out later
  std::string no_fix;           // what a person may do where none of them helps
};

struct LintRule {
  std::string name;  // "idle_axis"
  std::string what;  // a phrase for people: "a mesh axis that splits nothing"
  // True: what find() gives is a fault by itself. False: only where one of its fixes pays (engine/lint/lint.h).
  bool certain = true;
  std::vector<Fault> (*find)(const LintSubject& subject) = nullptr;
};

// All rules, in the order of docs/lint.md; one line in lint_rule.cpp adds one.
const std::vector<LintRule>& lint_rules();
// What a rule finds, with places and fixes as the run file says them: by its strategy, where it has one.
std::vector<Fault> find_faults(const LintRule& rule, const LintSubject& subject);
// Null where none has this name.
const LintRule* find_lint_rule(const std::string& name);

// The rules that the run file turns off by unknown names, as errors with near ones (unknown_rule).
std::vector<Error> check_lint(const RunConfig& config);

}  // namespace shardscope
