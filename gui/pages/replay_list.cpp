#include "gui/pages/replay_list.h"

#include <QStringList>
#include <algorithm>

#include "engine/base/units.h"
#include "gui/document/text.h"
#include "gui/look/appearance.h"

namespace shardscope {

void ReplayList::show(const std::vector<TimedPiece>& pieces, DType dtype, std::optional<int> only) {
  beginResetModel();
  rows_.clear();
  for (const TimedPiece& piece : pieces)
    if (piece.turn >= 0 && (!only || piece.piece.from == *only || piece.piece.to == *only)) rows_.push_back(piece);
  dtype_ = dtype;
  endResetModel();
}

void ReplayList::set_moment(const ReplayMoment& moment) {
  moment_ = moment;
  if (!rows_.empty()) emit dataChanged(index(0, 0), index(rowCount() - 1, columns - 1), {Qt::BackgroundRole});
}

bool ReplayList::is_on_its_way(const TimedPiece& piece) const {
  const double progress = progress_of(piece, moment_);
  return progress < 1 && piece.round == moment_.round && piece.turn <= moment_.at;
}

int ReplayList::row_on_its_way() const {
  const auto found = std::ranges::find_if(rows_, [this](const TimedPiece& piece) { return is_on_its_way(piece); });
  return found == rows_.end() ? -1 : static_cast<int>(found - rows_.begin());
}

QString ReplayList::text(const TimedPiece& row, int column, bool exact) const {
  const double bytes = double(row.piece.elements() * byte_size(dtype_));
  switch (column) {
    case when_column:
      return row.round > 0 ? QString("%1.%2").arg(row.round + 1).arg(row.turn + 1) : QString::number(row.turn + 1);
    case from_column: return QString::number(row.piece.from);
    case to_column: return QString::number(row.piece.to);
    case piece_column: return qt(piece_text(row.piece)) + (row.piece.reduced ? tr(", reduced there") : QString());
    case bytes_column: return qt(exact ? exact_bytes(bytes) : bytes_text(bytes));
    default: return {};
  }
}

QVariant ReplayList::data(const QModelIndex& index, int role) const {
  if (!index.isValid()) return {};
  const TimedPiece& row = rows_[static_cast<size_t>(index.row())];
  const int column = index.column();
  if (role == Qt::DisplayRole) return text(row, column, false);
  if (role == Qt::ToolTipRole)
    return tr("Device %1 gives device %2 %3: %4")
        .arg(row.piece.from)
        .arg(row.piece.to)
        .arg(qt(piece_text(row.piece)), text(row, bytes_column, true));
  if (role == Qt::BackgroundRole && is_on_its_way(row)) return mix(theme().base, theme().accent, 0.25);
  if (role == Qt::TextAlignmentRole && column != piece_column) return int(Qt::AlignRight | Qt::AlignVCenter);
  return {};
}

QVariant ReplayList::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation != Qt::Horizontal || role != Qt::DisplayRole) return {};
  static const QStringList titles{tr("Tick"), tr("From"), tr("To"), tr("Piece"), tr("Bytes")};
  return titles.value(section);
}

QString ReplayList::copied_text() const {
  QStringList lines{"tick\tfrom\tto\tpiece\tbytes"};
  for (const TimedPiece& row : rows_) {
    QStringList cells;
    for (int column = 0; column < columns; ++column) cells << text(row, column, true);
    lines << cells.join('\t');
  }
  return lines.join('\n') + '\n';
}

}  // namespace shardscope
