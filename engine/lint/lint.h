#pragma once

#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "engine/lint/rules/lint_rule.h"

namespace shardscope {

// What a plan takes, in the order in which plans are compared: bytes beyond what a device has, then predicted seconds
// of a step, then bytes of the heaviest device.
struct PlanCost {
  int64_t excess_bytes = 0;
  double seconds = 0;
  int64_t bytes = 0;
};
PlanCost cost_of(const LintSubject& subject);

// Whether a change from one to the other is worth it: less excess; or no more excess, and at least 0.2 % less
// time; or no more of either, and at least 0.2 % less memory. A sequence of such changes ends.
bool pays(const PlanCost& before, const PlanCost& after);

// A change of the run file that removes a fault and pays.
struct Fix {
  Settings settings;
  RunConfig config;  // with them
  PlanCost after;
};

// A fault that was found, with what it costs.
struct Finding {
  std::string rule, message;
  Place place;         // in the run file
  double seconds = 0;  // of a step, and bytes of the heaviest device: with a fix the plan's minus those of the fixed
  int64_t bytes = 0;   // plan, of which one may be negative; else what the rule estimates by the plan alone
  std::optional<Fix> fix;
  std::vector<Fix> other_fixes;  // single ones after which the fault is gone too, the least costly first; at most two
  std::string no_fix;            // why there is none, or what a person may do
};

// "docs/lint.md#idle_axis"
std::string chapter(const Finding& finding);
// For lists of errors: code rule, hint the fix's settings or why there is none.
Error to_error(const Finding& finding);
// "costs 3.1 ms a step and 12.0 MiB", "costs 3.1 ms a step (fixing it takes 12.0 MiB more)"; empty: nothing is known.
std::string cost_text(const Finding& finding);

struct LintReport {
  std::vector<Finding> findings;                         // those that cost most first
  std::vector<std::pair<std::string, std::string>> off;  // rules that the run file turns off, and its reasons
};

// What rules find in the plan alone that is certain, without prices and fixes: as quick as reading the plan. Rules that
// the run file turns off find nothing.
std::vector<Finding> certain_findings(const Plan& plan);

struct LintChoice {
  std::vector<std::string> rules;  // empty: all
  // Plans a changed run file on the machine of the plan; by default compile(). May throw Failure and Cancelled.
  std::function<Plan(const RunConfig& config, const Machine& machine, std::stop_token stop)> make_plan = nullptr;
};

// All findings with their prices: of each fault the fixes are planned, alone and then one after the other as long as
// they pay; the one that leads to the cheapest plan is the finding's, if the fault is gone with it. Of rules that are
// not certain nothing is found where no fix pays. Throws Failure for unknown rules (unknown_rule), Cancelled.
LintReport lint(const Plan& plan, const LintChoice& choice = {}, std::stop_token stop = {});

// Applies the fix that leads to the cheapest plan, lints again, and so on until no finding has a fix. Throws alike.
struct FixedRun {
  RunConfig config;
  std::vector<Finding> applied;  // in their order
  LintReport left;               // of the fixed run
};
FixedRun fix_all(const Plan& plan, const LintChoice& choice = {}, std::stop_token stop = {});

}  // namespace shardscope
