#pragma once

#include "gui/document/document.h"
#include "gui/document/selection.h"
#include "gui/planning/planner.h"
#include "gui/run/run_control.h"
#include "gui/workspace/findings.h"
#include "gui/workspace/step_facts.h"

namespace shardscope {

// What all views of one window share.
struct Workspace {
  explicit Workspace(PlanSource source, const QString& shardrun) : planner(std::move(source)), run(shardrun) {
    QObject::connect(&document, &Document::replaced, &planner, &Planner::forget);
    QObject::connect(&document, &Document::configChanged, &planner,
                     [this] { planner.request(document.shared_config()); });
  }

  Document document;
  Planner planner;
  Findings findings{document, planner};
  Selection selection;
  RunControl run;

  // The run's record where it ran the plan that is shown, so that measured and planned speak of the same steps.
  const RunRecord* matching_run() const {
    const std::shared_ptr<const Plan> plan = planner.plan();
    return plan && planner.is_current() && run.record().is_of(*plan) ? &run.record() : nullptr;
  }
  // Selects a step, and where it is of another stage than that which is shown, the first device of its stage.
  void select_step(StepRef step) {
    const std::shared_ptr<const Plan> plan = planner.plan();
    if (plan && find_step(*plan, step) && stage_of(*plan, step) != shown_stage(*plan, selection))
      selection.select_device(plan->devices_of_stage(stage_of(*plan, step)).front());
    selection.select_step(step);
  }
  // What a step of the plan took on the ranks of that run: seconds of a training step, in all microbatches together. A
  // collective goes by its start, with what its done took.
  std::optional<MeasuredTime> measured(StepRef step) const {
    const RunRecord* record = matching_run();
    if (!record || !find_step(*planner.plan(), step)) return std::nullopt;
    const int stage = stage_of(*planner.plan(), step);
    MeasuredTime sum;
    for (const TaskRun& run : planner.plan()->program.main(stage).runs) {
      if (run.task != step.task) continue;
      const Task& task = planner.plan()->program.tasks[step.task];
      const std::optional<int> done = done_index(task, step.index);
      for (const int index : done ? std::vector<int>{step.index, *done} : std::vector<int>{step.index}) {
        const std::optional<MeasuredTime> once = record->plan_step_time(run.first + task.order.place(index), stage);
        if (!once) return std::nullopt;
        sum.working += once->working;
        sum.waiting += once->waiting;
      }
    }
    return sum;
  }
  // The mean of its runs in a training step.
  std::optional<double> measured_seconds(StepRef step) const {
    const std::optional<MeasuredTime> time = measured(step);
    return time ? std::optional(time->seconds() / planner.index().runs(step)) : std::nullopt;
  }
};

}  // namespace shardscope
