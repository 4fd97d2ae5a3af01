#pragma once

#include <QString>
#include <string>
#include <string_view>

namespace shardscope {

// The engine's text (UTF-8) as Qt's.
inline QString qt(std::string_view text) { return QString::fromUtf8(text.data(), static_cast<qsizetype>(text.size())); }

}  // namespace shardscope
