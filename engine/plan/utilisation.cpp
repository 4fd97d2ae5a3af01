#include "engine/plan/utilisation.h"

#include <algorithm>
#include <map>

#include "engine/graph/op_definition.h"
#include "engine/machine/topology.h"

namespace shardscope {

namespace {

double microbatches_of(const Plan& plan) {
  int most = 0;
  for (const TaskRun& run : plan.program.main().runs) most = std::max(most, run.microbatch);
  return most + 1;
}

double tokens_of(const Graph& graph) {
  int64_t most = 0;
  for (const auto& [name, value] : graph.inputs) {
    const TensorType& type = graph.type(value);
    if (!is_float(type.dtype)) most = std::max(most, element_count(type.shape));
  }
  return static_cast<double>(most);
}

// FLOPs that the device does for an op, as the plan's stack runs it (WorkPrices), and the most that it does in a
// second.
std::pair<double, double> executed_work(const Plan& plan, const Op& op, std::span<const TensorType> operands,
                                        double flops) {
  const Device& device = plan.machine.device;
  Precision precision = precision_of(operands[0].dtype);
  std::string_view kernel = op.definition->name();
  const ScoreWork scores = op.definition->scores(op.attributes, operands);
  if (!plan.stack.runs_here() && scores.scores > 0) {
    precision = Precision::bf16;
    kernel = scores.kernel;
    const StackAttention& attention = plan.stack.attention;
    if (attention.kernel == AttentionKernel::flash && attention.skips_masked) flops *= 1 - scores.masked;
  }
  const ProductRate* products = find_products(device, precision);
  double rate = products ? products->flops_per_second : 0;
  if (const auto own = device.kernels.find(kernel); own != device.kernels.end()) {
    for (const auto& [of_precision, per_second] : own->second.flops_per_second) rate = std::max(rate, per_second);
  }
  return {flops, rate};
}

}  // namespace

double Utilisation::share(double device_seconds) const {
  return seconds > 0 ? device_seconds / (seconds * devices) : 0;
}

double Utilisation::device_hours(double of_tokens) const {
  return tokens > 0 ? of_tokens / tokens * seconds * devices / 3600 : 0;
}

Utilisation utilisation(const Plan& plan) {
  Utilisation use;
  const Graph& graph = *plan.graph;
  std::map<Precision, double> by_precision;
  double forward = 0, executed = 0, least = 0;
  const double of_device = share_of_rank(plan.machine.device, plan.ranks_on_host());
  std::vector<TensorType> operands, results;
  for (const Op& op : graph.ops) {
    const bool is_in_pass = op.phase != Phase::update && op.phase != Phase::initialise;
    if (!is_in_pass || !op.definition->is_matrix_product()) continue;
    operands.clear();
    results.clear();
    for (ValueId value : op.inputs) operands.push_back(graph.type(value));
    for (ValueId value : op.outputs) results.push_back(graph.type(value));
    const double flops = op.definition->flops(op.attributes, operands, results);
    if (op.phase == Phase::forward) forward += flops;
    if (op.phase != Phase::backward) by_precision[precision_of(operands[0].dtype)] += flops;
    const auto [done, rate] = executed_work(plan, op, operands, flops);
    executed += done;
    if (rate > 0) least += done / (rate * of_device);
  }
  const double microbatches = microbatches_of(plan);
  use.devices = plan.mesh.device_count();
  use.seconds = plan.totals.seconds_per_step;
  use.tokens = tokens_of(graph) * microbatches;
  use.model_flops = (plan.trains() ? 3 : 1) * forward * microbatches;
  use.hardware_flops = executed * microbatches;
  use.least_seconds = least * microbatches;
  const auto most = std::ranges::max_element(by_precision, {}, [](const auto& entry) { return entry.second; });
  const ProductRate* rate = most == by_precision.end() ? nullptr : find_products(plan.machine.device, most->first);
  if (rate) use.peak_flops = rate->flops_per_second * of_device;
  return use;
}

std::vector<ExposedAxes> exposed_by_axes(const Plan& plan, int stage) {
  std::map<std::vector<std::string>, double> seconds;
  const SequenceInstructions steps = plan.instructions(stage);
  const std::vector<TimeSpan>& spans = plan.simulation.stages[static_cast<size_t>(stage)];
  for (size_t position = 0; position < spans.size(); ++position) {
    const CollectiveDone* done = steps[static_cast<int>(position)].as<CollectiveDone>();
    const double waited = spans[position].end - spans[position].start;
    if (!done || waited <= 0) continue;
    const Task& task = steps.task(static_cast<int>(position));
    std::vector<std::string> axes;
    for (AxisIndex axis : task.instructions[static_cast<size_t>(done->start)].axes())
      axes.push_back(plan.mesh.axes()[axis].name);
    seconds[axes] += waited;
  }
  std::vector<ExposedAxes> list;
  for (const auto& [axes, of_axes] : seconds) list.push_back({axes, of_axes});
  std::ranges::stable_sort(list, std::greater(), &ExposedAxes::seconds);
  return list;
}

std::vector<FamilyWork> work_by_family(const Plan& plan, int stage) {
  std::map<std::pair<std::string, std::vector<std::string>>, std::pair<double, int64_t>> found;
  const SequenceInstructions steps = plan.instructions(stage);
  for (const auto& [position, count] : distinct_instructions(plan.program.main(stage))) {
    const Instruction& instruction = steps[position];
    const double seconds = plan.seconds(position, stage);
    if (seconds == 0) continue;
    std::vector<std::string> axes;
    std::string family(name(instruction.kind()));
    if (instruction.as<Compute>()) {
      const Op& op = plan.graph->ops[static_cast<size_t>(instruction.op)];
      family = op.definition->name();
      if (op.definition->is_matrix_product())
        family += " in " + std::string(name(precision_of(plan.graph->type(op.inputs.front()).dtype)));
    } else {
      for (AxisIndex axis : instruction.axes()) axes.push_back(plan.mesh.axes()[axis].name);
    }
    auto& [sum, number] = found[{family, axes}];
    sum += seconds * static_cast<double>(count);
    number += count;
  }
  std::vector<FamilyWork> list;
  for (const auto& [key, sums] : found) list.push_back({key.first, key.second, sums.first, sums.second});
  std::ranges::stable_sort(list, std::greater(), &FamilyWork::seconds);
  return list;
}

std::vector<StageMemory> memory_of_stages(const Plan& plan) {
  std::vector<StageMemory> stages;
  for (int stage = 0; stage < plan.program.stages; ++stage) {
    const PlanTotals& totals = plan.pipeline.totals[static_cast<size_t>(stage)];
    stages.push_back(
        {stage, plan.devices_of_stage(stage), totals.device_memory, totals.allocator_bytes, totals.device_bytes});
  }
  return stages;
}

}  // namespace shardscope
