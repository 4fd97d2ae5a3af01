#include "engine/shard/work_prices.h"

#include <algorithm>
#include <utility>

namespace shardscope {

WorkPrices::WorkPrices(const Machine& machine, const Mesh& mesh, std::optional<AxisIndex> stages, Stack stack)
    : WorkPrices(std::make_shared<const MachinePrices>(machine, mesh.device_count()), mesh, stages, std::move(stack)) {}

WorkPrices::WorkPrices(std::shared_ptr<const MachinePrices> machine, const Mesh& mesh, std::optional<AxisIndex> stages,
                       Stack stack)
    : machine_(std::move(machine)), mesh_(mesh), stages_(stages), stack_(std::move(stack)) {}

void WorkPrices::use_graph(const Graph& graph) {
  graph_ = &graph;
  if (stack_.fusion.elementwise) chains_.emplace(graph);
  types_ = StackTypes(graph, stack_);
}

double WorkPrices::compute(const Op& op, std::span<const TensorType> operands,
                           std::span<const TensorType> results) const {
  const OpDefinition& definition = *op.definition;
  if (stack_.fusion.accumulation && definition.accumulates()) return 0;
  const DType dtype = operands.empty() ? results[0].dtype : operands[0].dtype;
  const double bytes = bytes_of(op, operands, results);
  if (chains_ ? chains_->is_free(op) : graph_ && types_.is_no_work(*graph_, op)) return 0;
  if (!stack_.runs_here()) {
    if (const ScoreWork work = definition.scores(op.attributes, operands); work.scores > 0)
      return attention(op, work, operands, results, bytes);
  }
  const auto& kernels = machine_->machine().device.kernels;
  if (!definition.is_matrix_product() || kernels.contains(definition.name())) {
    const double flops = definition.flops(op.attributes, operands, results);
    return machine_->local_seconds(definition.name(), bytes, flops, precision_of(dtype));
  }
  double seconds = 0;
  for (const auto& [m, n, k, batch, transposed_left] : definition.products(op.attributes, operands, results)) {
    seconds += machine_->matrix_product_seconds({precision_of(dtype), m, n, k, batch, transposed_left});
  }
  const bool by_row = dtype == DType::f8 && stack_.products.scales == ProductScales::row;
  return by_row ? seconds / stack_.products.row_rate : seconds;
}

double WorkPrices::bytes_of(const Op& op, std::span<const TensorType> operands,
                            std::span<const TensorType> results) const {
  if (!op.definition->touches_memory()) return 0;
  double bytes = 0;
  for (size_t i = 0; i < operands.size(); ++i) {
    if (!chains_ || chains_->reads(op, i))
      bytes += static_cast<double>(operands[i].bytes()) * types_.share(op.inputs[i]);
  }
  for (size_t i = 0; i < results.size(); ++i) {
    if (!chains_ || chains_->writes(op, i))
      bytes += static_cast<double>(results[i].bytes()) * types_.share(op.outputs[i]);
  }
  return bytes;
}

double WorkPrices::attention(const Op& op, const ScoreWork& work, std::span<const TensorType> operands,
                             std::span<const TensorType> results, double bytes) const {
  const OpDefinition& definition = *op.definition;
  constexpr Precision precision = Precision::bf16;
  const double flops = definition.flops(op.attributes, operands, results);
  if (stack_.attention.kernel == AttentionKernel::flash) {
    const double share = stack_.attention.skips_masked ? 1 - work.masked : 1;
    if (machine_->machine().device.kernels.contains(work.kernel))
      return machine_->local_seconds(work.kernel, bytes, flops * share, precision);
    return std::max(machine_->local_seconds(work.kernel, bytes), machine_->peak_seconds(flops * share, precision));
  }
  // Bytes of each score. Forward: product writes 2; mask and softmax 2, 2; dropout 2, 2 and its mask 1; product
  // reads 2. Backward: product writes 2; dropout 2, 1, 2; softmax 2, 2, 2; three products read 2 each.
  constexpr double forward_bytes = 13, backward_bytes = 19;
  double seconds = machine_->local_seconds(
      "scores", work.scores * (op.phase == Phase::backward ? backward_bytes : forward_bytes), 0, precision);
  for (const auto& [m, n, k, batch, transposed_left] : definition.products(op.attributes, operands, results)) {
    seconds += machine_->matrix_product_seconds({precision, m, n, k, batch, transposed_left});
  }
  return seconds;
}

double WorkPrices::receive(int from, int to, double bytes) const {
  const auto [entry, is_new] = transfers_.try_emplace({from, to});
  if (is_new && stages_) {
    std::vector<std::pair<int, int>> pairs;
    for (int device = 0; device < mesh_.device_count(); ++device) {
      if (mesh_.coordinate(device, *stages_) != from) continue;
      pairs.emplace_back(device, mesh_.group(device, {*stages_})[static_cast<size_t>(to)]);
    }
    entry->second = machine_->transfer_rate(pairs);
  }
  return entry->second.seconds(bytes);
}

const GroupPlacement& WorkPrices::placement(const AxisList& axes) const {
  uint8_t set = 0;
  for (AxisIndex axis : axes) set |= static_cast<uint8_t>(1u << axis);
  const auto [entry, is_new] = placements_.try_emplace(set);
  if (is_new) entry->second = machine_->place(mesh_, {axes.begin(), axes.end()});
  return entry->second;
}

}  // namespace shardscope
