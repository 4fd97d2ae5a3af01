#include "engine/search/bounds.h"

#include <algorithm>
#include <limits>
#include <optional>

#include "engine/compile/training_graph.h"
#include "engine/config/strategy.h"
#include "engine/graph/op_definition.h"
#include "engine/machine/chosen_stack.h"
#include "engine/machine/topology.h"
#include "engine/ops/expert_linear.h"
#include "engine/ops/grouped_linear.h"
#include "engine/ops/registry.h"
#include "engine/search/memory_bound.h"

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

struct Products {
  double seconds = 0, of_experts = 0, of_attention = 0;             // seconds: without those
  double rows_of_expert = std::numeric_limits<double>::infinity();  // fewest, of a sequence
};

// Rows that an expert has of an op's tokens; nothing of other ops.
std::optional<double> rows_of_expert(const Op& op, std::span<const TensorType> operands) {
  if (op.definition == &op_definition("expert_linear") || op.definition == &op_definition("expert_linear_grad")) {
    return static_cast<double>(element_count(operands[1].shape)) /
           static_cast<double>(op.attributes.as<ExpertLinearAttributes>().experts);
  }
  if (op.definition == &op_definition("grouped_linear") || op.definition == &op_definition("grouped_linear_grad")) {
    const Shape& rows = operands[0].shape;
    return static_cast<double>(rows[0] * rows[1] * rows[2]) * op.attributes.as<GroupedLinearAttributes>().filled /
           static_cast<double>(std::max<int64_t>(1, element_count(operands[1].shape)));
  }
  return std::nullopt;
}

// Of matrix products at peak rates.
Products products_of(const Graph& graph, const Machine& machine, double share) {
  Products work;
  for (const Op& op : graph.ops) {
    if (!op.definition->is_matrix_product()) continue;
    std::vector<TensorType> operands, results;
    for (ValueId input : op.inputs) operands.push_back(graph.type(input));
    for (ValueId output : op.outputs) results.push_back(graph.type(output));
    const ProductRate* rate = find_products(machine.device, precision_of(operands.front().dtype));
    if (!rate) continue;
    const double flops = op.definition->flops(op.attributes, operands, results);
    const std::optional<double> rows = rows_of_expert(op, operands);
    if (rows) work.rows_of_expert = std::min(work.rows_of_expert, *rows);
    double& seconds = rows                                        ? work.of_experts
                      : op.definition->work_kind() == "attention" ? work.of_attention
                                                                  : work.seconds;
    seconds += flops / (rate->flops_per_second * share);
  }
  return work;
}

// Blocks of a causal ring leave out the scores above the diagonal.
constexpr double seen_by_ring = 0.5;

// Rows of an expert are whole: of r rows at least this share counts, of more no less.
double share_of_whole_rows(double rows) { return rows >= 2 ? 1 - 1 / rows : 0.5; }

}  // namespace

Bounds::Bounds(const PlanRequest& request, int64_t devices) : devices_(devices) {
  const RunConfig& config = request.config;
  const Machine& machine = request.machine;
  const Topology topology(machine.levels, static_cast<int>(devices));
  const double share = share_of_rank(machine.device, ranks_on_host(machine, topology));
  const Stack stack = chosen_stack(config.stack);
  stack_memory_ = stack.memory;
  const ModelLimits limits = model_limits(config);
  rows_ = limits.rows;
  for (const std::string& policy : limits.recompute) {
    const RunConfig run = one_sequence(config, policy);
    ForwardGraph forward = build_forward(run);
    if (!forward.graph || !forward.run.errors.empty()) throw Failure(forward.run.errors);
    const Graph graph = build_training(forward.run, std::move(*forward.graph), machine).graph;
    const Products work = products_of(graph, machine, share);
    seconds_[policy] = {work.seconds * static_cast<double>(rows_), work.of_experts * static_cast<double>(rows_),
                        stack.runs_here() ? work.of_attention * static_cast<double>(rows_) : 0};
    rows_of_expert_ = std::min(rows_of_expert_, work.rows_of_expert);
    if (policy != "none") continue;
    for (const State& state : graph.states) {
      const std::vector<std::string>* logical = &graph.values[state.before].logical;
      if (state.follows != no_id &&
          graph.type(state.before).shape == graph.type(graph.states[state.follows].before).shape)
        logical = &graph.values[graph.states[state.follows].before].logical;
      const auto has = [&](const char* name) { return std::ranges::find(*logical, name) != logical->end(); };
      const bool tensor = has("heads") || has("kv_heads") || has("mlp") || has("vocab"), expert = has("experts");
      StateBytes& bytes = state.is_of_optimizer() ? optimizer_ : parameters_;
      double StateBytes::*part = tensor && expert ? &StateBytes::by_both
                                 : tensor         ? &StateBytes::by_tensor
                                 : expert         ? &StateBytes::by_expert
                                                  : &StateBytes::plain;
      const TensorType& type = graph.type(state.before);
      bytes.*part += static_cast<double>(type.bytes());
      if (state.trainable)
        gradient_copies_.*part += static_cast<double>(element_count(type.shape)) * stack.memory.gradient_bytes;
    }
  }
}

Bound Bounds::of(const Candidate& candidate) const {
  const StrategyConfig& s = candidate.strategy;
  Bound bound;
  // Another policy recomputes something, and nothing less than none.
  const auto known = seconds_.find(s.recompute);
  const ProductSeconds& work = known == seconds_.end() ? seconds_.at("none") : known->second;
  const double stages = static_cast<double>(s.pipeline);
  const double rows =
      rows_of_expert_ * static_cast<double>(std::max<int64_t>(1, s.microbatch_size)) / static_cast<double>(s.context);
  const double seen = s.context > 1 ? seen_by_ring : 1;
  bound.seconds = (work.plain + work.of_experts * share_of_whole_rows(rows) + work.of_attention * seen) /
                  static_cast<double>(devices_);
  const double tensor = static_cast<double>(s.tensor), expert = static_cast<double>(s.expert);
  const StateShards shards = state_shards(s);
  // fastest may lay out nothing else: what is stored is as pinned.
  const double copies = gradient_copies_.split(tensor, expert) / shards.parameters;
  const double states =
      parameters_.split(tensor, expert) / shards.parameters + optimizer_.split(tensor, expert) / shards.optimizer;
  bound.memory_bytes = with_allocator((states + copies) / stages, stack_memory_);
  return bound;
}

}  // namespace shardscope
