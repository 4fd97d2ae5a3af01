#include "engine/lint/rules/lint_rule.h"

#include <algorithm>

#include "engine/config/place.h"
#include "engine/config/strategy.h"
#include "engine/lint/rules/rules.h"
#include "engine/lint/rules/strategy_settings.h"

namespace shardscope {

LintSubject::LintSubject(const Plan& plan, const RunConfig& config)
    : plan(plan), config(config), axes(axis_uses(plan)) {}

const std::vector<LintRule>& lint_rules() {
  static const std::vector<LintRule> rules = {
      memory_rule(),
      idle_axis_rule(),
      communication_rule(),
      tensor_across_nodes_rule(),
      heavy_on_slow_level_rule(),
      overlap_rule(),
      stage_imbalance_rule(),
      bubble_rule(),
      recompute_rule(),
      replicated_state_rule(),
      costly_zero_rule(),
      indivisible_batch_rule(),
      few_kv_heads_rule(),
      vocabulary_rule(),
      uncontracted_spec_rule(),
      gathered_embedding_rule(),
      gathered_logits_rule(),
      avoidable_reshard_rule(),
      split_all_reduce_rule(),
      small_products_rule(),
      padding_rule(),
      expert_imbalance_rule(),
      short_context_rule(),
      context_attention_rule(),
      bf16_accumulation_rule(),
      fragmentation_rule(),
  };
  return rules;
}

std::vector<Fault> find_faults(const LintRule& rule, const LintSubject& subject) {
  std::vector<Fault> faults = rule.find(subject);
  for (Fault& fault : faults) {
    fault.place.path = strategy_place(subject.config, fault.place.path);
    for (Settings& settings : fault.fixes) settings = by_strategy(subject, std::move(settings));
  }
  return faults;
}

const LintRule* find_lint_rule(const std::string& name) {
  const auto found = std::ranges::find(lint_rules(), name, &LintRule::name);
  return found == lint_rules().end() ? nullptr : &*found;
}

std::vector<Error> check_lint(const RunConfig& config) {
  std::vector<std::string> names;
  for (const LintRule& rule : lint_rules()) names.push_back(rule.name);
  std::vector<Error> errors;
  for (const auto& [name, reason] : config.lint.off) {
    if (find_lint_rule(name)) continue;
    errors.push_back({"unknown_rule", "no rule of lint is called '" + name + "'", member_place("lint.off", name),
                      name_hint(name, names)});
  }
  return errors;
}

}  // namespace shardscope
