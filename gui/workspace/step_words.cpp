#include "gui/workspace/step_words.h"

#include <algorithm>

#include "gui/document/text.h"
#include "gui/workspace/array_of_value.h"
#include "gui/workspace/step_facts.h"

namespace shardscope {

void StepWords::set_plan(std::shared_ptr<const Plan> plan) {
  if (plan_ == plan) return;
  plan_ = std::move(plan);
  lines_ = {};
}

void StepWords::learn() {
  for (const Task& task : plan_->program.tasks) {
    std::vector<QString>& lines = lines_.tasks.emplace_back();
    for (const Step& step : task.steps) {
      QStringList texts{qt(name(step.kind)), qt(name(step.phase)), axes_text(plan_->mesh, step.axes),
                        qt(plan_->step_name(step))};
      if (is_transfer(step.kind)) texts << qt(plan_->mesh.axes()[*plan_->pipeline.axis].name);
      for (const MovedArray& array : step.moved)
        if (array.cause.user != no_id) texts << qt(plan_->graph->ops[array.cause.user].name);
      for (const std::vector<int>* values : {&step.inputs, &step.outputs})
        for (const int value : *values) texts << value_text(*plan_, plan_->program.values[value].graph_value);
      texts.removeDuplicates();
      lines.push_back(texts.join('\n'));
    }
  }
}

bool StepWords::has(StepId step, const QStringList& words) {
  if (!plan_) return false;
  if (lines_.tasks.empty()) learn();
  const QString& line = lines_[step];
  return std::ranges::all_of(words, [&](const QString& word) { return line.contains(word, Qt::CaseInsensitive); });
}

}  // namespace shardscope
