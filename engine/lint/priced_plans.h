#pragma once

#include <map>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "engine/lint/lint.h"

namespace shardscope {

// What lint keeps of a plan: what it takes, and what each rule finds in it.
struct PricedPlan {
  RunConfig config;
  PlanCost cost;
  std::vector<std::vector<Fault>> faults;  // by rule, in the order of lint_rules()

  const std::vector<Fault>& faults_of(const LintRule& rule) const;
};

// Plans of changed run files on the machine of one plan, each made once.
class PricedPlans {
 public:
  PricedPlans(const Plan& plan, const LintChoice& choice, std::stop_token stop);

  const std::shared_ptr<const PricedPlan>& base() const { return base_; }
  // Null where a run file with these settings is not legal, or is the same. Throws Cancelled.
  std::shared_ptr<const PricedPlan> with(const RunConfig& config, const Settings& settings);

 private:
  std::shared_ptr<const PricedPlan> priced(RunConfig config);

  const LintChoice& choice_;
  const Machine machine_;
  std::stop_token stop_;
  std::shared_ptr<const PricedPlan> base_;
  std::map<std::string, std::shared_ptr<const PricedPlan>> known_;  // by the text of the run file
};

}  // namespace shardscope
