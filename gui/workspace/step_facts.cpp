#include "gui/workspace/step_facts.h"

#include <QObject>
#include <QStringList>

#include "gui/document/text.h"

namespace shardscope {
namespace {

template <class Wanted>
std::vector<StepRef> steps_where(const Plan& plan, Wanted wanted) {
  std::vector<StepRef> steps;
  for (size_t i = 0; i < plan.program.steps.size(); ++i)
    if (wanted(plan.program.steps[i])) steps.push_back({static_cast<int>(i)});
  return steps;
}

}  // namespace

std::vector<StepRef> steps_of(const Plan& plan) {
  return steps_where(plan, [](const Step&) { return true; });
}

std::vector<StepRef> collectives_of(const Plan& plan) {
  return steps_where(plan, [](const Step& step) { return is_collective(step.kind); });
}

StepRef step_at(int position) { return {position}; }

int position_of(StepRef step) { return step.index; }

const Step* find_step(const Plan& plan, std::optional<StepRef> step) {
  const auto count = static_cast<int>(plan.program.steps.size());
  return step && step->index >= 0 && step->index < count ? &plan.program.steps[step->index] : nullptr;
}

QString short_name(const std::string& name) {
  QStringList scopes = qt(name).split('/');
  if (scopes.size() > 1 && scopes.front() == "params") scopes.removeFirst();
  return scopes.join('/');
}

QString axes_text(const Mesh& mesh, const std::vector<AxisIndex>& axes) {
  QStringList names;
  for (AxisIndex axis : axes) names << qt(mesh.axes()[axis].name);
  return names.join(", ");
}

QString short_cause(const QString& cause) {
  const qsizetype more = cause.count('\n');
  if (more == 0) return cause;
  return QObject::tr("%1 (and %2 more)").arg(cause.section('\n', 0, 0)).arg(more);
}

}  // namespace shardscope
