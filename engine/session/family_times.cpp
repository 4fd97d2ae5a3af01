#include "engine/session/family_times.h"

#include <algorithm>
#include <map>

#include "engine/machine/topology.h"
#include "engine/shard/work_prices.h"

namespace shardscope {

namespace {

struct Priced {
  PricedFamily family;
  double latency = 0;
};

std::optional<Priced> price_of(const Plan& plan, const Instruction& instruction, const WorkPrices& prices) {
  if (const CollectiveStart* start = instruction.as<CollectiveStart>()) {
    const int level = prices.placement(start->axes).level();
    if (level < 0) return std::nullopt;
    return Priced{CollectiveFamily{start->kind, plan.machine.levels[static_cast<size_t>(level)].name},
                  prices.collective(start->kind, 0, start->axes)};
  }
  const double latency = prices.machine().local_seconds("", 0);
  if (instruction.as<Slice>()) return Priced{KernelFamily{"slice"}, latency};
  if (!instruction.as<Compute>()) return std::nullopt;
  const OpDefinition& definition = *plan.graph->ops[static_cast<size_t>(instruction.op)].definition;
  const Device& device = plan.machine.device;
  if (!definition.is_matrix_product() || device.kernels.contains(definition.name()))
    return Priced{KernelFamily{std::string(definition.name())}, latency};
  const int operand = instruction.operands().front();
  for (Precision precision : substitutes(precision_of(plan.program.values[static_cast<size_t>(operand)].dtype)))
    if (device.products.contains(precision)) return Priced{ProductFamily{precision}, latency};
  return std::nullopt;
}

struct Samples {
  FamilyTimes sum;
  std::vector<double> ratios;
};

double worked(const PlanStepTime& time) { return static_cast<double>(time.end_ns - time.start_ns) * 1e-9; }

bool is_sharing_cores(const Plan& plan) { return share_of_rank(plan.machine.device, plan.ranks_on_host()) < 1; }

// By which a rank's times are enlarged.
double enlargement(const Plan& plan, int stage, const std::vector<PlanStepTime>& times) {
  if (!is_sharing_cores(plan) || times.empty()) return 1;
  double predicted = 0, measured = 0;
  for (int position = 0; position < std::ssize(times); ++position) {
    predicted += plan.seconds(position, stage);
    measured += worked(times[static_cast<size_t>(position)]);
  }
  const double step = static_cast<double>(times.back().end_ns - times.front().arrive_ns) * 1e-9;
  const double wanted = step * predicted / plan.totals.seconds_per_step;
  return measured > 0 ? std::max(1.0, wanted / measured) : 1;
}

}  // namespace

std::optional<double> FamilyTimes::correction() const {
  constexpr double least_share_of_work = 0.5;
  const double work = predicted - latency, wanted = off * predicted - latency;
  if (work < least_share_of_work * predicted || wanted <= 0) return std::nullopt;
  return wanted / work;
}

std::vector<FamilyTimes> family_times(const Plan& plan, const TraceMessage& trace) {
  const auto ranks = static_cast<int>(trace.ranks.size());
  if (ranks != plan.mesh.device_count()) return {};
  const WorkPrices prices(plan.machine, plan.mesh, plan.pipeline.axis);
  std::map<PricedFamily, Samples> families;
  for (int stage = 0; stage < plan.program.stages; ++stage) {
    const SequenceInstructions instructions = plan.instructions(stage);
    const std::vector<int> devices = plan.devices_of_stage(stage);
    std::vector<double> enlarged;  // by device of the stage
    for (const int rank : devices) {
      const std::vector<PlanStepTime>& times = trace.ranks[static_cast<size_t>(rank)];
      if (std::ssize(times) != instructions.size()) return {};
      enlarged.push_back(enlargement(plan, stage, times));
    }
    for (int position = 0; position < instructions.size(); ++position) {
      const double predicted = plan.seconds(position, stage);
      const int done = instructions.done_of(position);
      const bool is_alone = done <= position + 1;
      const std::optional<Priced> priced = price_of(plan, instructions[position], prices);
      if (!priced || predicted <= 0 || !is_alone) continue;
      auto& [sum, ratios] = families[priced->family];
      for (size_t i = 0; i < devices.size(); ++i) {
        const std::vector<PlanStepTime>& times = trace.ranks[static_cast<size_t>(devices[i])];
        double measured = worked(times[static_cast<size_t>(position)]);
        if (done > position) measured += worked(times[static_cast<size_t>(done)]);
        measured *= enlarged[i];
        ++sum.count;
        sum.predicted += predicted / ranks;
        sum.measured += measured / ranks;
        sum.latency += priced->latency / ranks;
        ratios.push_back(measured / predicted);
      }
    }
  }
  std::vector<FamilyTimes> list;
  for (auto& [family, samples] : families) {
    auto& [sum, ratios] = samples;
    const auto middle = ratios.begin() + std::ssize(ratios) / 2;
    std::ranges::nth_element(ratios, middle);
    sum.family = family;
    // Of instructions that share a core some are done at once, and others last until their rank has it again.
    sum.off = is_sharing_cores(plan) ? sum.measured / sum.predicted : *middle;
    list.push_back(sum);
  }
  std::ranges::stable_sort(list, std::greater(), &FamilyTimes::measured);
  return list;
}

}  // namespace shardscope
