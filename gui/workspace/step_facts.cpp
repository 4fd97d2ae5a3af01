#include "gui/workspace/step_facts.h"

#include <QObject>
#include <QStringList>

#include "gui/document/text.h"

namespace shardscope {

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
