#include "gui/document/config_difference.h"

#include <QStringList>
#include <algorithm>

#include "engine/compile/setting_changes.h"
#include "gui/document/text.h"

namespace shardscope {

std::vector<SettingDifference> differences(const RunConfig& before, const RunConfig& after) {
  std::vector<SettingDifference> list;
  for (const SettingChange& change : setting_changes(before, after))
    list.push_back({qt(change.path), qt(change.before), qt(change.after)});
  return list;
}

std::vector<SettingDifference> line_differences(const std::string& before, const std::string& after) {
  const QStringList old = qt(before).split('\n'), now = qt(after).split('\n');
  qsizetype first = 0, old_end = old.size(), now_end = now.size();
  while (first < old_end && first < now_end && old[first] == now[first]) ++first;
  while (old_end > first && now_end > first && old[old_end - 1] == now[now_end - 1]) --old_end, --now_end;
  std::vector<SettingDifference> list;
  for (qsizetype line = first; line < std::max(old_end, now_end); ++line)
    list.push_back({QObject::tr("line %1").arg(line + 1), line < old_end ? old[line] : QString(),
                    line < now_end ? now[line] : QString()});
  return list;
}

}  // namespace shardscope
