#include "engine/lint/lint.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <tuple>

#include "engine/base/units.h"
#include "engine/compile/compile.h"
#include "engine/compile/document_of.h"
#include "engine/lint/priced_plans.h"

namespace shardscope {
namespace {

constexpr double least_gain = 0.002;
constexpr size_t most_other_fixes = 2;
constexpr int most_steps = 32;  // of a fix; each pays, so that few are taken

bool is_cheaper(const PlanCost& one, const PlanCost& other) {
  return std::tie(one.excess_bytes, one.seconds, one.bytes) < std::tie(other.excess_bytes, other.seconds, other.bytes);
}

bool is_off(const RunConfig& config, const std::string& rule) {
  return std::ranges::any_of(config.lint.off, [&](const auto& line) { return line.first == rule; });
}

const Fault* find_at(const std::vector<Fault>& faults, const Place& place) {
  const auto found = std::ranges::find(faults, place, &Fault::place);
  return found == faults.end() ? nullptr : &*found;
}

// Where trying to fix a fault leads.
struct Attempt {
  Settings settings;
  std::shared_ptr<const PricedPlan> plan;  // null: no fix pays
  bool gone = false;
};

class FixSearch {
 public:
  FixSearch(PricedPlans& plans, const LintRule& rule, std::shared_ptr<const PricedPlan> base)
      : plans_(plans), rule_(rule), base_(std::move(base)) {}

  // One fix after the other as long as they pay and the fault stays.
  Attempt descend(const Fault& fault) const {
    Attempt attempt{{}, base_, false};
    const Fault* left = &fault;
    for (int step = 0; left && step < most_steps; ++step) {
      const auto [settings, plan] = cheapest(*left, *attempt.plan);
      if (!plan) break;
      attempt.settings.insert(attempt.settings.end(), settings.begin(), settings.end());
      attempt.plan = plan;
      left = find_at(plan->faults_of(rule_), fault.place);
    }
    attempt.gone = !left || !rule_.certain;
    if (attempt.plan == base_) attempt.plan = nullptr;
    return attempt;
  }

  // The single fixes that pay and after which the fault is gone, the least costly first.
  std::vector<Attempt> single(const Fault& fault) const {
    std::vector<Attempt> list;
    for (const Settings& settings : fault.fixes) {
      std::shared_ptr<const PricedPlan> plan = plans_.with(base_->config, settings);
      if (plan && pays(base_->cost, plan->cost) && !find_at(plan->faults_of(rule_), fault.place))
        list.push_back({settings, std::move(plan), true});
    }
    std::ranges::stable_sort(
        list, [](const Attempt& one, const Attempt& other) { return is_cheaper(one.plan->cost, other.plan->cost); });
    return list;
  }

 private:
  std::pair<Settings, std::shared_ptr<const PricedPlan>> cheapest(const Fault& fault, const PricedPlan& from) const {
    std::pair<Settings, std::shared_ptr<const PricedPlan>> best;
    for (const Settings& settings : fault.fixes) {
      std::shared_ptr<const PricedPlan> plan = plans_.with(from.config, settings);
      if (!plan || !pays(from.cost, plan->cost)) continue;
      if (!best.second || is_cheaper(plan->cost, best.second->cost)) best = {settings, std::move(plan)};
    }
    return best;
  }

  PricedPlans& plans_;
  const LintRule& rule_;
  std::shared_ptr<const PricedPlan> base_;
};

// Without those that a later one of the same path takes back.
Settings last_of_each(const Settings& settings) {
  Settings list;
  const auto path = [](const std::string& setting) { return setting.substr(0, setting.find('=')); };
  for (const std::string& setting : settings) {
    std::erase_if(list, [&](const std::string& other) { return path(other) == path(setting); });
    list.push_back(setting);
  }
  return list;
}

std::string text_of(const Settings& settings) { return fmt::format("{}", fmt::join(settings, ", ")); }

Finding unfixed(const LintRule& rule, const Fault& fault) {
  return {rule.name, fault.message, fault.place, fault.seconds, fault.bytes, {}, {}, fault.no_fix};
}

Fix fix_of(const Attempt& attempt) {
  return {last_of_each(attempt.settings), attempt.plan->config, attempt.plan->cost};
}

std::optional<Finding> judge(PricedPlans& plans, const LintRule& rule, const Fault& fault,
                             const std::shared_ptr<const PricedPlan>& base) {
  Finding finding = unfixed(rule, fault);
  if (!rule.certain && fault.fixes.empty()) return std::nullopt;
  const FixSearch search(plans, rule, base);
  Attempt attempt = search.descend(fault);
  Attempt best = attempt;
  const std::vector<Attempt> single = attempt.plan ? search.single(fault) : std::vector<Attempt>();
  if (attempt.plan && !attempt.gone) best = single.empty() ? Attempt() : single.front();
  if (!best.plan) {
    if (!rule.certain) return std::nullopt;
    if (attempt.plan) {
      const double saved = base->cost.seconds - attempt.plan->cost.seconds;
      const std::string said =
          fmt::format("{} would {} {} a step, and this would still be so", text_of(attempt.settings),
                      saved < 0 ? "cost" : "save", seconds_text(std::abs(saved)));
      finding.no_fix = finding.no_fix.empty() ? said : finding.no_fix + "; " + said;
    }
    return finding;
  }
  finding.seconds = base->cost.seconds - best.plan->cost.seconds;
  finding.bytes = base->cost.bytes - best.plan->cost.bytes;
  finding.fix = fix_of(best);
  for (const Attempt& other : single) {
    if (other.plan->config != best.plan->config && finding.other_fixes.size() < most_other_fixes)
      finding.other_fixes.push_back(fix_of(other));
  }
  return finding;
}

std::vector<const LintRule*> chosen_rules(const LintChoice& choice, const RunConfig& config) {
  std::vector<std::string> names;
  for (const LintRule& rule : lint_rules()) names.push_back(rule.name);
  std::vector<Error> errors = check_lint(config);
  for (const std::string& name : choice.rules) {
    if (!find_lint_rule(name)) {
      errors.push_back({"unknown_rule", "no rule of lint is called '" + name + "'", at_argument("--rule " + name),
                        name_hint(name, names)});
    }
  }
  if (!errors.empty()) throw Failure(std::move(errors));
  std::vector<const LintRule*> rules;
  for (const LintRule& rule : lint_rules()) {
    const bool wanted = choice.rules.empty() || std::ranges::find(choice.rules, rule.name) != choice.rules.end();
    if (wanted && !is_off(config, rule.name)) rules.push_back(&rule);
  }
  return rules;
}

LintReport report_on(PricedPlans& plans, const std::shared_ptr<const PricedPlan>& base, const LintChoice& choice) {
  LintReport report{{}, base->config.lint.off};
  for (const LintRule* rule : chosen_rules(choice, base->config)) {
    for (const Fault& fault : base->faults_of(*rule)) {
      if (std::optional<Finding> finding = judge(plans, *rule, fault, base))
        report.findings.push_back(std::move(*finding));
    }
  }
  std::ranges::stable_sort(report.findings, [&](const Finding& one, const Finding& other) {
    const auto key = [&](const Finding& finding) {
      const int64_t excess = finding.fix ? base->cost.excess_bytes - finding.fix->after.excess_bytes : 0;
      return std::tuple(-excess, -finding.seconds, -finding.bytes);
    };
    return key(one) < key(other);
  });
  return report;
}

}  // namespace

PlanCost cost_of(const LintSubject& subject) {
  const PlanTotals& totals = subject.plan.totals;
  const int64_t limit = subject.plan.memory_limit_bytes;
  const int64_t excess = limit > 0 ? std::max<int64_t>(0, totals.device_bytes - limit) : 0;
  return {excess, totals.seconds_per_step, totals.device_bytes};
}

bool pays(const PlanCost& before, const PlanCost& after) {
  if (before.excess_bytes != after.excess_bytes) return after.excess_bytes < before.excess_bytes;
  if (after.seconds < (1 - least_gain) * before.seconds) return true;
  return after.seconds <= before.seconds &&
         static_cast<double>(after.bytes) < (1 - least_gain) * static_cast<double>(before.bytes);
}

std::string chapter(const Finding& finding) { return "docs/lint.md#" + finding.rule; }

Error to_error(const Finding& finding) {
  return {finding.rule, finding.message, finding.place, finding.fix ? text_of(finding.fix->settings) : finding.no_fix};
}

std::string cost_text(const Finding& finding) {
  std::vector<std::string> costs, gains;
  if (finding.seconds > 0) costs.push_back(seconds_text(finding.seconds) + " a step");
  if (finding.seconds < 0) gains.push_back(seconds_text(-finding.seconds) + " a step");
  if (finding.bytes > 0) costs.push_back(bytes_text(static_cast<double>(finding.bytes)));
  if (finding.bytes < 0) gains.push_back(bytes_text(static_cast<double>(-finding.bytes)));
  if (costs.empty()) return {};
  const std::string text = fmt::format("costs {}", fmt::join(costs, " and "));
  return gains.empty() ? text : fmt::format("{} (without it {} more)", text, fmt::join(gains, " and "));
}

std::vector<Finding> certain_findings(const Plan& plan) {
  const RunConfig config = document_of(plan);
  const LintSubject subject(plan, config);
  std::vector<Finding> findings;
  for (const LintRule& rule : lint_rules()) {
    if (!rule.certain || is_off(config, rule.name)) continue;
    for (const Fault& fault : find_faults(rule, subject)) findings.push_back(unfixed(rule, fault));
  }
  return findings;
}

LintReport lint(const Plan& plan, const LintChoice& choice, std::stop_token stop) {
  PricedPlans plans(plan, choice, stop);
  return report_on(plans, plans.base(), choice);
}

FixedRun fix_all(const Plan& plan, const LintChoice& choice, std::stop_token stop) {
  PricedPlans plans(plan, choice, stop);
  FixedRun fixed;
  std::shared_ptr<const PricedPlan> now = plans.base();
  while (true) {
    LintReport report = report_on(plans, now, choice);
    const Finding* best = nullptr;
    for (const Finding& finding : report.findings) {
      if (finding.fix && (!best || is_cheaper(finding.fix->after, best->fix->after))) best = &finding;
    }
    if (!best) {
      fixed.config = now->config;
      fixed.left = std::move(report);
      return fixed;
    }
    now = plans.with(now->config, best->fix->settings);
    fixed.applied.push_back(*best);
  }
}

}  // namespace shardscope
