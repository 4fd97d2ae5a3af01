#include "engine/lint/rules/local_products.h"

#include <fmt/format.h>

#include "engine/lint/rules/mesh_changes.h"

namespace shardscope {

std::vector<LocalProduct> local_products(const Plan& plan) {
  std::vector<LocalProduct> products;
  std::vector<TensorType> operands, results;
  for (int stage = 0; stage < plan.program.stages; ++stage) {
    const SequenceInstructions instructions = plan.instructions(stage);
    for (const auto& [position, count] : distinct_instructions(plan.program.main(stage))) {
      const Compute* compute = instructions[position].as<Compute>();
      if (!compute) continue;
      const OpId id = instructions[position].op;
      const Op& op = plan.graph->ops[static_cast<size_t>(id)];
      if (!op.definition->is_matrix_product()) continue;
      local_types(plan.program.values, compute->operands, operands);
      local_types(plan.program.values, compute->results, results);
      const std::vector<ProductWork> parts = op.definition->products(op.attributes, operands, results);
      double all = 0;
      const auto flops = [](const ProductWork& part) {
        return double(part.m) * double(part.n) * double(part.k) * double(part.batch);
      };
      for (const ProductWork& part : parts) all += flops(part);
      for (const ProductWork& part : parts)
        products.push_back({id, part, all > 0 ? flops(part) / all * count * plan.seconds(position, stage) : 0});
    }
  }
  return products;
}

int64_t product_tile(const Machine& machine) { return machine.device.kind == DeviceKind::own ? 128 : 16; }

std::vector<Settings> larger_products(const LintSubject& subject) {
  std::vector<Settings> list;
  const int64_t microbatches = subject.config.schedule.microbatches;
  for (int64_t fewer = microbatches - 1; fewer > 0; --fewer) {
    if (microbatches % fewer == 0) list.push_back({fmt::format("schedule.microbatches={}", fewer)});
  }
  for (const AxisUse& axis : subject.axes) {
    if (axis.size == 1 || axis.splits_rows || axis.is_pipeline) continue;
    for (Settings& moved : moved_to_rows(subject, axis.axis)) list.push_back(std::move(moved));
  }
  return list;
}

}  // namespace shardscope
