#include "gui/run/run_speed.h"

#include "engine/machine/topology.h"

namespace shardscope {

StepWork step_work(const Plan& plan) {
  StepWork work;
  if (plan.graph && !plan.graph->inputs.empty()) {
    const auto tokens = plan.graph->inputs.find("tokens");
    work.are_tokens = tokens != plan.graph->inputs.end();
    const Shape& shape = plan.graph->type(work.are_tokens ? tokens->second : plan.graph->inputs.begin()->second).shape;
    work.items = double(plan.pipeline.shape.microbatches);
    for (size_t dim = 0; dim < (work.are_tokens ? shape.size() : std::min<size_t>(1, shape.size())); ++dim)
      work.items *= double(shape[dim]);
  }
  const int ranks = plan.mesh.device_count();
  for (int rank = 0; rank < ranks; ++rank) {
    const auto stage = static_cast<size_t>(plan.stage_of(rank));
    if (stage < plan.pipeline.totals.size()) work.flops += plan.pipeline.totals[stage].flops_per_device;
  }
  const Device& device = plan.machine.device;
  const Precision precision = plan.bf16_products.empty() ? Precision::f32 : Precision::bf16;
  const double share = share_of_rank(device, plan.ranks_on_host());
  if (const ProductRate* rate = find_products(device, precision)) work.peak = rate->flops_per_second * share * ranks;
  return work;
}

}  // namespace shardscope
