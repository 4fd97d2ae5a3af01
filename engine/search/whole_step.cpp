#include "engine/search/whole_step.h"

#include <algorithm>
#include <optional>

#include "engine/compile/token_split.h"
#include "engine/graph/casts.h"
#include "engine/graph/op_definition.h"
#include "engine/ops/expert_linear.h"
#include "engine/ops/grouped_linear.h"
#include "engine/ops/registry.h"
#include "engine/plan/stages.h"
#include "engine/search/network_parts.h"

namespace shardscope {

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

namespace {

constexpr double most_bytes = 1e18;  // that a capacity may be

class WholeStep {
 public:
  WholeStep(const TrainingGraph& training, int kept, const WorkPrices& prices)
      : training_(training),
        graph_(training.graph),
        prices_(prices),
        runs_here_(prices.stack().runs_here()),
        has_experts_(has_experts(graph_)),
        of_states_(values_of_states(graph_)),
        of_weights_(weight_gradient_ops(graph_)),
        parts_(graph_, kept),
        seconds_(static_cast<size_t>(parts_.count())) {}

  WholeStepWork sum(const std::vector<EqualLayers>& layers) {
    for (OpId id = 0; id < static_cast<OpId>(graph_.ops.size()); ++id) {
      if (graph_.ops[id].phase != Phase::initialise) add(id);
    }
    WholeStepWork all;
    for (double WholeStepWork::*part : {&WholeStepWork::products, &WholeStepWork::of_experts,
                                        &WholeStepWork::of_attention, &WholeStepWork::streamed}) {
      all.*part = seconds_[static_cast<size_t>(parts_.kept())].*part + seconds_.back().*part;
      for (const EqualLayers& equal : layers) {
        const double first = seconds_[static_cast<size_t>(equal.kept)].*part,
                     last = seconds_[static_cast<size_t>(equal.kept + equal.kept_count - 1)].*part;
        all.*part +=
            equal.count == 1 ? first : first + last + static_cast<double>(equal.count - 2) * std::min(first, last);
      }
    }
    for (const WholeStepWork& each : seconds_) all.rows_of_expert = std::min(all.rows_of_expert, each.rows_of_expert);
    return all;
  }

 private:
  void add(OpId id) {
    const Op& op = graph_.ops[id];
    WholeStepWork& seconds = seconds_[static_cast<size_t>(std::max(0, parts_.of_op(id)))];
    operands_.clear(), results_.clear();
    for (ValueId input : op.inputs) operands_.push_back(graph_.type(input));
    for (ValueId output : op.outputs) results_.push_back(graph_.type(output));
    if (op.definition->is_matrix_product()) return add_product(op, seconds);
    if (!is_left_out(id)) seconds.streamed += prices_.compute(op, operands_, results_);
  }

  void add_product(const Op& op, WholeStepWork& seconds) {
    if (!find_products(prices_.machine().machine().device, precision_of(operands_.front().dtype))) return;
    const std::optional<double> rows = rows_of_expert(op, operands_);
    if (rows) seconds.rows_of_expert = std::min(seconds.rows_of_expert, *rows);
    const bool attends = op.definition->work_kind() == "attention";
    if (attends && !runs_here_) return;
    double& sum = rows ? seconds.of_experts : attends ? seconds.of_attention : seconds.products;
    sum += prices_.compute(op, operands_, results_);
  }

  bool is_left_out(OpId id) const {
    const Op& op = graph_.ops[id];
    const auto any = [](const auto& list, const auto& is) { return std::ranges::any_of(list, is); };
    if (any(graph_.rule(id).factors, [](const auto& factor) { return factor.ring != 0; })) return true;
    if (op.phase == Phase::recompute && op.forward_op != no_id &&
        training_.recomputed_casts.contains(graph_.ops[op.forward_op].name))
      return true;
    if (!runs_here_ && (op.phase == Phase::update || op.place.part == LayerPart::attention || of_weights_[id] ||
                        any(op.outputs, [&](ValueId value) { return of_states_[value]; })))
      return true;
    return has_experts_ && (any(op.inputs, [&](ValueId value) { return may_be_of_experts(value); }) ||
                            any(op.outputs, [&](ValueId value) { return may_be_of_experts(value); }));
  }

  // Values whose dimensions have no names, and those of experts.
  bool may_be_of_experts(ValueId id) const {
    const Value& value = graph_.values[id];
    return value.kind == ValueKind::result && (value.logical.empty() || value.logical.front() != "batch");
  }

  const TrainingGraph& training_;
  const Graph& graph_;
  const WorkPrices& prices_;
  bool runs_here_, has_experts_;
  std::vector<bool> of_states_, of_weights_;
  NetworkParts parts_;
  std::vector<WholeStepWork> seconds_;  // by part
  std::vector<TensorType> operands_, results_;
};

}  // namespace

Machine ideal_machine(Machine machine, double parts) {
  Device& device = machine.device;
  device.instruction_latency = device.issue_seconds = 0;
  for (MemoryLevel& level : device.memory) {
    level.capacity_bytes =
        static_cast<int64_t>(std::min(most_bytes, static_cast<double>(level.capacity_bytes) * parts));
  }
  for (auto& [precision, rate] : device.products) {
    rate.efficiency.clear();
    rate.transposed_left.clear();
    if (!rate.tiles.empty())
      rate.flops_per_second *= std::ranges::max(rate.tiles, {}, &ProductTile::efficiency).efficiency;
    rate.tiles.clear();
  }
  return machine;
}

WholeStepWork step_seconds(const TrainingGraph& training, const std::vector<EqualLayers>& layers,
                           const WorkPrices& prices) {
  const EqualLayers& last = layers.back();
  return WholeStep(training, last.kept + last.kept_count, prices).sum(layers);
}

}  // namespace shardscope
