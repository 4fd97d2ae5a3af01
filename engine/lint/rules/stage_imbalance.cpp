#include "engine/lint/rules/stage_imbalance.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>

#include "engine/base/units.h"
#include "engine/lint/rules/rules.h"
#include "engine/plan/stages.h"

namespace shardscope {

double stage_imbalance(std::span<const double> stage_seconds) {
  if (stage_seconds.size() < 2) return 0;
  const double slowest = std::ranges::max(stage_seconds);
  const double mean =
      std::accumulate(stage_seconds.begin(), stage_seconds.end(), 0.0) / static_cast<double>(stage_seconds.size());
  return slowest > 0 ? 1 - mean / slowest : 0;
}

namespace {

// One layer from a chunk of the slowest stage to a chunk of another.
std::vector<Settings> moved_layers(const PipelinePlan& pipeline, int slowest) {
  std::vector<Settings> list;
  const auto chunks = static_cast<int>(pipeline.layers.size()), stages = pipeline.shape.stages;
  for (int from = slowest; from < chunks; from += stages) {
    for (int to = 0; to < chunks; ++to) {
      std::vector<int> layers = pipeline.layers;
      if (to % stages == slowest || --layers[static_cast<size_t>(from)] < 1) continue;
      ++layers[static_cast<size_t>(to)];
      list.push_back({fmt::format("pipeline.layers=[{}]", fmt::join(layers, ","))});
    }
  }
  return list;
}

std::vector<Fault> stage_imbalance_faults(const LintSubject& subject) {
  const PipelinePlan& pipeline = subject.plan.pipeline;
  if (!pipeline.axis) return {};
  std::vector<double> stages;
  for (const PlanTotals& stage : pipeline.totals)
    stages.push_back(stage.seconds_per_step / pipeline.shape.microbatches);
  const double idle = stage_imbalance(stages);
  if (idle <= most_imbalance) return {};
  const auto [fastest, slowest] = std::ranges::minmax_element(stages);
  const auto number = [&](auto stage) { return static_cast<int>(stage - stages.begin()); };
  Fault fault;
  fault.place = "pipeline.layers";
  fault.message = fmt::format(
      "stage {} computes {} for a microbatch, the mean of {} stages is {}: they wait {:.0f} % of the "
      "time for it",
      number(slowest), seconds_text(*slowest), stages.size(), seconds_text(*slowest * (1 - idle)), 100 * idle);
  fault.seconds = idle * *slowest * pipeline.shape.microbatches;
  fault.fixes.push_back({"pipeline.layers=[]"});
  for (Settings& moved : moved_layers(pipeline, number(slowest))) fault.fixes.push_back(std::move(moved));
  const auto chunks = static_cast<int>(pipeline.layers.size());
  const bool is_even =
      pipeline.layers == balanced_layers(layer_seconds(*subject.plan.graph, subject.plan.machine), chunks);
  fault.no_fix = is_even ? "the layers are cut as evenly as whole layers can be: another number of stages may wait less"
                         : fmt::format("move layers from stage {} to stage {}, which computes {}", number(slowest),
                                       number(fastest), seconds_text(*fastest));
  return {std::move(fault)};
}

}  // namespace

LintRule stage_imbalance_rule() {
  return {"stage_imbalance", "stages of a pipeline that wait more than a tenth of the time for the slowest", true,
          stage_imbalance_faults};
}

}  // namespace shardscope
