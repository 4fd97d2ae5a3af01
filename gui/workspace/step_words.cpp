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
    for (const Instruction& instruction : task.instructions) {
      if (const CollectiveDone* done = instruction.as<CollectiveDone>()) {
        lines.push_back(lines[static_cast<size_t>(done->start)]);
        continue;
      }
      QStringList texts{qt(name(instruction.kind())), qt(name(instruction.phase)),
                        axes_text(plan_->mesh, instruction.axes()), qt(plan_->instruction_name(instruction))};
      if (is_transfer(instruction.kind())) texts << qt(plan_->mesh.axes()[*plan_->pipeline.axis].name);
      for (const MovedArray& array : instruction.moved())
        if (array.cause.user != no_id) texts << qt(plan_->graph->ops[array.cause.user].name);
      for (const std::span<const int> values : {instruction.operands(), instruction.destinations()})
        for (const int value : values) texts << value_text(*plan_, plan_->program.values[value].graph_value);
      texts.removeDuplicates();
      lines.push_back(texts.join('\n'));
    }
  }
}

bool StepWords::has(InstructionId step, const QStringList& words) {
  if (!plan_) return false;
  if (lines_.tasks.empty()) learn();
  const QString& line = lines_[step];
  return std::ranges::all_of(words, [&](const QString& word) { return line.contains(word, Qt::CaseInsensitive); });
}

}  // namespace shardscope
