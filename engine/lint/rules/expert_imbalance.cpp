#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "engine/graph/op_definition.h"
#include "engine/lint/rules/rules.h"
#include "engine/ops/top_k.h"

namespace shardscope {
namespace {

constexpr double most_excess = 0.25;

// Tokens that a router's device sends, over how many experts, and by how many each.
struct Routing {
  const Op* op = nullptr;
  double tokens = 0;  // of a microbatch, on all devices
  double experts = 0, chosen = 0;

  double tokens_per_expert() const { return tokens * chosen / experts; }
  // By how much the busiest expert is above the mean, where tokens choose evenly by chance: about
  // sqrt(2 ln(experts) / mean) (M. Raab, A. Steger, "Balls into Bins", 1998).
  double excess() const { return std::sqrt(2 * std::log(experts) / tokens_per_expert()); }
};

bool splits_experts(const Plan& plan) {
  return std::ranges::any_of(plan.parameters, [&](const ParameterPlan& parameter) {
    const Value& value =
        plan.graph->values[static_cast<size_t>(plan.graph->states[static_cast<size_t>(parameter.state)].before)];
    const auto dim = std::ranges::find(value.logical, "experts");
    if (dim == value.logical.end()) return false;
    return shard_count(parameter.sharding, plan.mesh, static_cast<int>(dim - value.logical.begin())) > 1;
  });
}

Routing routing_of(const Graph& graph) {
  Routing routing;
  for (const Op& op : graph.ops) {
    if (op.definition->name() != "top_k" || op.phase != Phase::forward) continue;
    const Shape& scores = graph.type(op.inputs.front()).shape;
    const double experts = static_cast<double>(scores.back());
    routing = {&op, static_cast<double>(element_count(scores)) / experts, experts,
               static_cast<double>(op.attributes.as<TopKAttributes>().k)};
    break;
  }
  return routing;
}

std::vector<Fault> expert_imbalance_faults(const LintSubject& subject) {
  if (!splits_experts(subject.plan)) return {};
  const Routing routing = routing_of(*subject.plan.graph);
  if (!routing.op || routing.experts < 2 || routing.excess() <= most_excess) return {};
  Fault fault;
  fault.place = "schedule.microbatches";
  fault.message = fmt::format(
      "a microbatch has {:.3g} tokens for each of {} experts: by chance alone the busiest has "
      "some {:.0f} % more, for which the devices of the others wait",
      routing.tokens_per_expert(), routing.experts, 100 * routing.excess());
  const int64_t microbatches = subject.config.schedule.microbatches;
  for (int64_t fewer = microbatches - 1; fewer > 0; --fewer) {
    if (microbatches % fewer == 0) fault.fixes.push_back({fmt::format("schedule.microbatches={}", fewer)});
  }
  fault.no_fix = "more tokens in a microbatch, or fewer experts on more devices each";
  return {std::move(fault)};
}

}  // namespace

LintRule expert_imbalance_rule() {
  return {"expert_imbalance", "too few tokens for an expert, so that chance makes some wait for others", true,
          expert_imbalance_faults};
}

}  // namespace shardscope
