#include "gui/document/text.h"

#include <QStringList>

#include "engine/base/name_pattern.h"

namespace shardscope {

QString list_text(const std::vector<std::string>& list) {
  QStringList texts;
  for (const std::string& text : list) texts << qt(text);
  return texts.join(", ");
}

std::vector<std::string> listed_texts(const QString& text) {
  std::vector<std::string> list;
  for (const QString& part : text.split(',', Qt::SkipEmptyParts)) {
    const QString trimmed = part.trimmed();
    if (!trimmed.isEmpty()) list.push_back(trimmed.toStdString());
  }
  return list;
}

QString pattern_text(const std::string& pattern) {
  const QString listed = list_text(list_of_pattern(pattern));
  return !listed.isEmpty() && written_pattern(listed) == pattern ? listed : qt(pattern);
}

std::string written_pattern(const QString& text) {
  const std::vector<std::string> list = split_patterns(text.toStdString());
  return list.size() > 1 ? pattern_of_list(list) : text.toStdString();
}

}  // namespace shardscope
