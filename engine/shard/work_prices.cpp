#include "engine/shard/work_prices.h"

namespace shardscope {

WorkPrices::WorkPrices(const Machine& machine, const Mesh& mesh, std::optional<AxisIndex> stages)
    : machine_(machine, mesh.device_count()), mesh_(mesh), stages_(stages) {}

double WorkPrices::compute(const Op& op, std::span<const TensorType> operands,
                           std::span<const TensorType> results) const {
  const OpDefinition& definition = *op.definition;
  const DType dtype = operands.empty() ? results[0].dtype : operands[0].dtype;
  double bytes = 0;
  if (definition.touches_memory()) {
    for (const TensorType& type : operands) bytes += static_cast<double>(type.bytes());
    for (const TensorType& type : results) bytes += static_cast<double>(type.bytes());
  }
  const auto& kernels = machine_.machine().device.kernels;
  if (!definition.is_matrix_product() || kernels.contains(definition.name())) {
    const double flops = definition.flops(op.attributes, operands, results);
    return machine_.local_seconds(definition.name(), bytes, flops, precision_of(dtype));
  }
  double seconds = 0;
  for (const auto& [m, n, k, batch, transposed_left] : definition.products(op.attributes, operands, results)) {
    seconds += machine_.matrix_product_seconds({precision_of(dtype), m, n, k, batch, transposed_left});
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
    entry->second = machine_.transfer_rate(pairs);
  }
  return entry->second.seconds(bytes);
}

const GroupPlacement& WorkPrices::placement(const AxisList& axes) const {
  uint8_t set = 0;
  for (AxisIndex axis : axes) set |= static_cast<uint8_t>(1u << axis);
  const auto [entry, is_new] = placements_.try_emplace(set);
  if (is_new) entry->second = machine_.place(mesh_, {axes.begin(), axes.end()});
  return entry->second;
}

}  // namespace shardscope
