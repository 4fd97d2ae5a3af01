#include "gui/workspace/step_facts.h"

#include <QObject>
#include <QStringList>

#include "gui/document/text.h"

namespace shardscope {
StepRef step_at(const Plan& plan, int position, int stage) {
  return whole_collective(plan.program.tasks, plan.instructions(stage).id(position));
}

std::optional<int> position_of(const Plan& plan, std::optional<StepRef> step, std::optional<int> stage) {
  const std::vector<Task>& tasks = plan.program.tasks;
  if (!step || step->task < 0 || step->task >= std::ssize(tasks)) return std::nullopt;
  const Task& task = tasks[step->task];
  if (step->index < 0 || step->index >= std::ssize(task.instructions) || stage.value_or(task.stage) != task.stage)
    return std::nullopt;
  return position_of(tasks, plan.program.main(task.stage), *step);
}

const Instruction* find_step(const Plan& plan, std::optional<StepRef> step) {
  return position_of(plan, step) ? &plan.program.tasks[step->task].instructions[step->index] : nullptr;
}

int stage_of(const Plan& plan, StepRef step) { return plan.program.tasks[step.task].stage; }

int shown_stage(const Plan& plan, const Selection& selection) {
  const std::optional<int> device = selection.device();
  return device && *device < plan.mesh.device_count() ? plan.stage_of(*device) : 0;
}

QString short_name(const std::string& name) {
  QStringList scopes = qt(name).split('/');
  if (scopes.size() > 1 && scopes.front() == "params") scopes.removeFirst();
  return scopes.join('/');
}

QString axes_text(const Mesh& mesh, const AxisList& axes) {
  QStringList names;
  for (AxisIndex axis : axes) names << qt(mesh.axes()[axis].name);
  return names.join(", ");
}

QString coordinates_text(const Mesh& mesh, int device) {
  const std::vector<int64_t> at = mesh.coordinates(device);
  QStringList coordinates;
  for (int i = 0; i < mesh.axis_count(); ++i) coordinates << QString("%1 %2").arg(qt(mesh.axes()[i].name)).arg(at[i]);
  return coordinates.join(", ");
}

QString short_cause(const QString& cause) {
  const qsizetype more = cause.count('\n');
  if (more == 0) return cause;
  return QObject::tr("%1 (and %2 more)").arg(cause.section('\n', 0, 0)).arg(more);
}

}  // namespace shardscope
