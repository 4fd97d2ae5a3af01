#include "engine/lint/what_next.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "engine/config/run_file_keys.h"
#include "engine/lint/priced_plans.h"
#include "engine/lint/rules/mesh_changes.h"
#include "engine/lint/rules/strategy_settings.h"
#include "engine/plan/schedules/schedule.h"

namespace shardscope {
namespace {

void add_mesh_notches(const LintSubject& subject, std::vector<Settings>& notches) {
  const std::vector<AxisSize> besides = sizes_besides(subject, {"data", "fsdp", "tensor"});
  for (const AxisUse& from : subject.axes) {
    if (from.size % 2 != 0) continue;
    for (const AxisUse& to : subject.axes) {
      if (from.axis != to.axis) notches.push_back(moved_factor(subject, from.axis, to.axis, 2));
    }
    for (const AxisSize& to : besides) notches.push_back(moved_factor(subject, from.axis, to, 2));
  }
  for (size_t axis = 1; axis < subject.axes.size(); ++axis) {
    std::vector<AxisIndex> order;
    for (const AxisUse& use : subject.axes) order.push_back(use.axis);
    std::swap(order[axis - 1], order[axis]);
    notches.push_back(reordered(subject, order));
  }
}

std::vector<Settings> notches_of(const LintSubject& subject) {
  const RunConfig& config = subject.config;
  std::vector<Settings> notches;
  const auto add = [&](std::string setting) { notches.push_back({std::move(setting)}); };
  add_mesh_notches(subject, notches);
  const int64_t microbatches = config.schedule.microbatches;
  add(fmt::format("schedule.microbatches={}", microbatches * 2));
  if (microbatches % 2 == 0) add(fmt::format("schedule.microbatches={}", microbatches / 2));
  if (config.trains()) {
    for (const std::string& policy : run_file::rematerialise_policies())
      add(fmt::format("schedule.rematerialise={}", policy));
    for (const int64_t step : {-1, 1}) {
      const int64_t stage = config.sharding.zero.stage + step;
      if (stage >= 0 && stage <= 3) add(fmt::format("sharding.zero.stage={}", stage));
    }
  }
  if (!config.pipeline.axis.empty()) {
    for (const PipelineSchedule& schedule : all_schedules()) add(fmt::format("pipeline.schedule={}", schedule.name));
    add("pipeline.layers=[]");
  }
  add(config.schedule.overlap == OverlapMode::off ? "schedule.overlap=auto" : "schedule.overlap=off");
  add(config.sharding.mode == LayoutMode::fastest ? "sharding.mode=as_written" : "sharding.mode=fastest");
  return notches;
}

}  // namespace

WhatNext what_next(const Plan& plan, const LintChoice& choice, std::stop_token stop) {
  PricedPlans plans(plan, choice, stop);
  const RunConfig& config = plans.base()->config;
  WhatNext next{plans.base()->cost, {}};
  const LintSubject subject(plan, config);
  for (Settings& notch : notches_of(subject)) {
    Settings settings = by_strategy(subject, std::move(notch));
    if (const std::shared_ptr<const PricedPlan> priced = plans.with(config, settings))
      next.notches.push_back({std::move(settings), priced->config, priced->cost});
  }
  std::ranges::stable_sort(next.notches, {}, [](const Notch& notch) {
    return std::tuple(notch.after.excess_bytes, notch.after.seconds, notch.after.bytes);
  });
  return next;
}

}  // namespace shardscope
