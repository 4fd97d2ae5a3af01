#include "engine/lint/priced_plans.h"

#include "engine/base/cancelled.h"
#include "engine/compile/compile.h"
#include "engine/compile/document_of.h"
#include "engine/compile/settings.h"
#include "engine/config/write.h"

namespace shardscope {
namespace {

std::shared_ptr<const PricedPlan> price(const Plan& plan, RunConfig config) {
  auto priced = std::make_shared<PricedPlan>();
  priced->config = std::move(config);
  const LintSubject subject(plan, priced->config);
  priced->cost = cost_of(subject);
  for (const LintRule& rule : lint_rules()) priced->faults.push_back(find_faults(rule, subject));
  return priced;
}

}  // namespace

const std::vector<Fault>& PricedPlan::faults_of(const LintRule& rule) const {
  return faults[static_cast<size_t>(&rule - lint_rules().data())];
}

PricedPlans::PricedPlans(const Plan& plan, const LintChoice& choice, std::stop_token stop)
    : choice_(choice), machine_(plan.machine), stop_(std::move(stop)), base_(price(plan, document_of(plan))) {
  known_[write_run_config(base_->config)] = base_;
}

std::shared_ptr<const PricedPlan> PricedPlans::with(const RunConfig& config, const Settings& settings) {
  throw_if_stopped(stop_);
  try {
    RunConfig changed = with_settings(config, settings);
    return changed == config ? nullptr : priced(std::move(changed));
  } catch (const Failure&) {
    return nullptr;
  }
}

std::shared_ptr<const PricedPlan> PricedPlans::priced(RunConfig config) {
  const std::string text = write_run_config(config);
  if (const auto known = known_.find(text); known != known_.end()) return known->second;
  std::shared_ptr<const PricedPlan>& kept = known_[text];  // null, should it throw
  const Plan plan = choice_.make_plan ? choice_.make_plan(config, machine_, stop_) : compile({config, machine_}, stop_);
  kept = price(plan, std::move(config));
  return kept;
}

}  // namespace shardscope
