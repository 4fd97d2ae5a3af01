#include "gui/document/faults.h"

#include <QStringList>

#include "gui/document/text.h"

namespace shardscope {

bool is_at(const QString& where, const QString& place) { return is_inside(where.toStdString(), place.toStdString()); }

std::vector<Error> errors_at(const std::vector<Error>& errors, const QString& place) {
  std::vector<Error> found;
  for (const Error& error : errors)
    if (is_inside(error.place.path, place.toStdString())) found.push_back(error);
  return found;
}

QString errors_text(const std::vector<Error>& errors) {
  QStringList lines;
  for (const Error& error : errors) {
    QString line = qt(error.message);
    if (!error.hint.empty()) line += " \u2014 " + qt(error.hint);
    lines << line;
  }
  return lines.join('\n');
}

std::vector<Error> memory_excess(const Plan& plan) {
  std::vector<Error> excess = plan.warnings;
  std::erase_if(excess, [](const Error& warning) { return warning.code != "memory"; });
  return excess;
}

}  // namespace shardscope
