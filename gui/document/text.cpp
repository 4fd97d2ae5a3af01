#include "gui/document/text.h"

#include <QStringList>

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

}  // namespace shardscope
