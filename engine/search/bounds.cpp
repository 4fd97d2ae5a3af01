#include "engine/search/bounds.h"

#include <algorithm>

#include "engine/compile/token_split.h"
#include "engine/compile/training_graph.h"
#include "engine/config/strategy.h"
#include "engine/graph/op_definition.h"
#include "engine/machine/topology.h"

namespace shardscope {

namespace {

// One sequence on one device, under a policy: products are linear in the sequences of a batch.
RunConfig one_sequence(const RunConfig& config, const std::string& policy) {
  StrategyConfig strategy;
  strategy.recompute = policy;
  RunConfig run = with_strategy(config, strategy);
  std::erase_if(run.data.options, [](const auto& option) { return option.first == "batch_size"; });
  run.data.options.emplace_back("batch_size", int64_t{1});
  return run;
}

// Of matrix products at peak rates. Of models with experts, whose work depends on how tokens travel, those of the
// forward pass that are not theirs, and one gradient of each.
double product_seconds(const Graph& graph, const Machine& machine, double share, bool has_experts, bool trains) {
  double seconds = 0;
  for (const Op& op : graph.ops) {
    if (!op.definition->is_matrix_product()) continue;
    if (has_experts && op.phase != Phase::forward) continue;
    std::vector<TensorType> operands, results;
    bool is_of_experts = false;
    for (ValueId input : op.inputs) {
      operands.push_back(graph.type(input));
      const std::vector<std::string>& logical = graph.values[input].logical;
      is_of_experts |= !logical.empty() && logical.front() == "experts";
    }
    if (has_experts && is_of_experts) continue;
    for (ValueId output : op.outputs) results.push_back(graph.type(output));
    const ProductRate* rate = find_products(machine.device, precision_of(operands.front().dtype));
    if (!rate) continue;
    const double times = has_experts && trains ? 2 : 1;
    const double flops = times * op.definition->flops(op.attributes, operands, results);
    seconds += flops / (rate->flops_per_second * share);
  }
  return seconds;
}

}  // namespace

Bounds::Bounds(const PlanRequest& request, int64_t devices) : devices_(devices) {
  const RunConfig& config = request.config;
  const Machine& machine = request.machine;
  const Topology topology(machine.levels, static_cast<int>(devices));
  const double share = share_of_rank(machine.device, ranks_on_host(machine, topology));
  rows_ = model_limits(config).rows;
  for (const char* policy : {"none", "selective", "full"}) {
    const RunConfig run = one_sequence(config, policy);
    ForwardGraph forward = build_forward(run);
    if (!forward.graph || !forward.run.errors.empty()) throw Failure(forward.run.errors);
    const bool experts = has_experts(*forward.graph);
    const Graph graph = build_training(forward.run, std::move(*forward.graph), machine).graph;
    seconds_[policy] = product_seconds(graph, machine, share, experts, config.trains()) * static_cast<double>(rows_);
    if (std::string(policy) != "none") continue;
    for (const State& state : graph.states) {
      const std::vector<std::string>* logical = &graph.values[state.before].logical;
      if (state.follows != no_id &&
          graph.type(state.before).shape == graph.type(graph.states[state.follows].before).shape)
        logical = &graph.values[graph.states[state.follows].before].logical;
      const auto has = [&](const char* name) { return std::ranges::find(*logical, name) != logical->end(); };
      const bool tensor = has("heads") || has("kv_heads") || has("mlp") || has("vocab"), expert = has("experts");
      StateBytes& bytes = state.is_of_optimizer() ? optimizer_ : parameters_;
      double& part = tensor && expert ? bytes.by_both
                     : tensor         ? bytes.by_tensor
                     : expert         ? bytes.by_expert
                                      : bytes.plain;
      part += static_cast<double>(graph.type(state.before).bytes());
    }
  }
}

Bound Bounds::of(const Candidate& candidate) const {
  const StrategyConfig& s = candidate.strategy;
  Bound bound;
  // Another policy than the three recomputes something, and nothing less than none.
  const auto known = seconds_.find(s.recompute);
  const double work = known == seconds_.end() ? seconds_.at("none") : known->second;
  const double stages = static_cast<double>(s.pipeline);
  bound.seconds = work / static_cast<double>(devices_);
  const double tensor = static_cast<double>(s.tensor), expert = static_cast<double>(s.expert);
  const double shards = static_cast<double>(s.fsdp);
  // The axis over which ZeRO splits, whichever it is.
  const double replicas = static_cast<double>(std::max({s.data, s.expert, s.context}));
  const double of_parameters = s.zero >= 3 ? replicas : shards, of_optimizer = s.zero >= 1 ? replicas : shards;
  // fastest may lay out nothing else: what is stored is as pinned.
  bound.memory_bytes =
      (parameters_.split(tensor, expert) / of_parameters + optimizer_.split(tensor, expert) / of_optimizer) / stages;
  return bound;
}

}  // namespace shardscope
