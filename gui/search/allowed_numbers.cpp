#include "gui/search/allowed_numbers.h"

#include <QObject>
#include <QRegularExpression>
#include <QStringList>
#include <algorithm>
#include <limits>
#include <optional>

#include "gui/document/text.h"

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

QString never_of(const AllowedNumbers& allowed, const QString& key, int64_t devices) {
  const auto allows_one = [&](int64_t low, int64_t high) {
    return allowed.is_any() || std::ranges::any_of(allowed.ranges, [&](const AllowedNumbers::Range& range) {
             return range.low <= high && range.high >= low;
           });
  };
  if (key == "zero") return allows_one(0, 3) ? QString() : QObject::tr("ZeRO has the stages 0, 1, 2 and 3");
  if (key == "virtual_stages" || key == "microbatch_size")
    return allows_one(1, std::numeric_limits<int64_t>::max()) ? QString() : QObject::tr("it is 1 or more");
  QStringList divisors;
  for (int64_t number = 1; number <= devices; ++number) {
    if (devices % number != 0) continue;
    if (allowed.allows(number)) return {};
    divisors << QString::number(number);
  }
  return QObject::tr("no such number divides the %1: %2 do").arg(counted_text(devices, "device"), divisors.join(", "));
}

}  // namespace shardscope
