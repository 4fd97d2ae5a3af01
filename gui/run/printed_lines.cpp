#include "gui/run/printed_lines.h"

#include <QFile>

namespace shardscope {
namespace {

constexpr qint64 most_at_once = 1 << 20;  // bytes
constexpr qint64 most_at_end = 16 << 20;

}  // namespace

QList<QByteArray> PrintedLines::read(bool is_last) {
  QFile printed(file_);
  if (file_.isEmpty() || !printed.open(QIODevice::ReadOnly) || !printed.seek(read_)) return {};
  const QByteArray more = printed.read(is_last ? most_at_end : most_at_once);
  read_ += more.size();
  unended_ += more;
  if (unended_.size() > 2 * most_at_end) unended_.remove(0, most_at_end);
  const qsizetype last = unended_.lastIndexOf('\n');
  if (last < 0) return {};
  const QList<QByteArray> lines = unended_.left(last).split('\n');
  unended_.remove(0, last + 1);
  return lines;
}

}  // namespace shardscope
