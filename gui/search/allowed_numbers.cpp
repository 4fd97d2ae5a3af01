#include "gui/search/allowed_numbers.h"

#include <QObject>
#include <QRegularExpression>
#include <QStringList>
#include <algorithm>
#include <limits>
#include <optional>

namespace shardscope {
namespace {

std::optional<AllowedNumbers::Range> number_range(const QString& part) {
  static const QRegularExpression form("^(\\d{0,9})(?:(\\.\\.)(\\d{0,9}))?$");
  const QRegularExpressionMatch match = form.match(part);
  if (!match.hasMatch()) return std::nullopt;
  const QString low = match.captured(1), high = match.captured(3);
  if (low.isEmpty() && high.isEmpty()) return std::nullopt;
  if (match.captured(2).isEmpty()) return AllowedNumbers::Range{low.toLongLong(), low.toLongLong()};
  return AllowedNumbers::Range{low.toLongLong(),
                               high.isEmpty() ? std::numeric_limits<int64_t>::max() : high.toLongLong()};
}

}  // namespace

bool AllowedNumbers::allows(int64_t number) const {
  return is_any() ||
         std::ranges::any_of(ranges, [&](const Range& range) { return range.low <= number && number <= range.high; });
}

AllowedNumbers allowed_numbers(const QString& text) {
  AllowedNumbers allowed;
  if (text.trimmed().isEmpty()) return allowed;
  for (const QString& part : text.split(',')) {
    const std::optional<AllowedNumbers::Range> range = number_range(part.simplified().remove(' '));
    if (range && range->low <= range->high) {
      allowed.ranges.push_back(*range);
    } else if (allowed.fault.isEmpty()) {
      allowed.fault =
          QObject::tr("\"%1\" is no number and no range: 8, or 1, 2, 4, or 2..8; empty for all").arg(part.trimmed());
    }
  }
  if (!allowed.fault.isEmpty()) allowed.ranges.clear();
  return allowed;
}

}  // namespace shardscope
