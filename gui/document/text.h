#pragma once

#include <QString>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/plural.h"

namespace shardscope {

// The engine's text (UTF-8) as Qt's.
inline QString qt(std::string_view text) { return QString::fromUtf8(text.data(), static_cast<qsizetype>(text.size())); }

// "1 step", "2 steps", as counted() says it.
inline QString counted_text(qint64 count, std::string_view one, std::string_view many = {}) {
  return qt(counted(count, one, many));
}

// A list of texts as a person writes it in one field, "linear 512, relu", and back.
QString list_text(const std::vector<std::string>& list);
std::vector<std::string> listed_texts(const QString& text);

// A pattern of names as a person writes it in one field: one for a list of patterns, "{mlp,**/ln1/**}", as this list,
// "mlp, **/ln1/**", where that reads back as the same; and back.
QString pattern_text(const std::string& pattern);
std::string written_pattern(const QString& text);

}  // namespace shardscope
