#include "gui/search/found_model.h"

#include <QFont>

#include "engine/base/units.h"
#include "gui/document/text.h"
#include "gui/look/appearance.h"

namespace shardscope {
namespace {

QString mfu_text(const Found& found) { return found.mfu > 0 ? qt(share_text(found.mfu)) : QString(QChar(0x2013)); }

}  // namespace

QString found_text(const Found& found, bool in_full) {
  const QString strategy = qt(text_of(found.candidate)), time = qt(seconds_text(found.seconds)),
                memory = qt(bytes_text(found.memory_bytes)), mfu = mfu_text(found);
  if (!in_full) return QObject::tr("%1, %2, MFU %3: %4").arg(time, memory, mfu, strategy);
  return QObject::tr("%1\nstep %2, memory %3, MFU %4\nexposed communication %5, bubble %6; limited by %7")
      .arg(strategy, time, memory, mfu, qt(share_text(found.exposed_share)), qt(share_text(found.bubble)),
           qt(found.limit));
}

FoundModel::FoundModel(const StrategySearch& search, const Document& document, QObject* parent)
    : QAbstractTableModel(parent), search_(search), document_(document) {
  connect(&search, &StrategySearch::replaced, this, [this] {
    beginResetModel();
    rows_ = 0;
    endResetModel();
  });
  connect(&search, &StrategySearch::advanced, this, [this](int first) {
    const int count = static_cast<int>(search_.found().size());
    if (count == first) return;
    beginInsertRows({}, first, count - 1);
    rows_ = count;
    endInsertRows();
    if (first > 0) emit dataChanged(index(0, front_column), index(first - 1, front_column));
  });
  connect(&search, &StrategySearch::ended, this, [this] {
    if (rows_ <= static_cast<int>(search_.found().size())) return refresh();
    beginResetModel();
    rows_ = static_cast<int>(search_.found().size());
    endResetModel();
  });
  connect(&document, &Document::configChanged, this, &FoundModel::refresh);
  connect(&look(), &Look::changed, this, &FoundModel::refresh);
}

void FoundModel::refresh() {
  if (rows_ > 0) emit dataChanged(index(0, 0), index(rows_ - 1, columns - 1));
}

int FoundModel::rowCount(const QModelIndex& parent) const { return parent.isValid() ? 0 : rows_; }

int FoundModel::columnCount(const QModelIndex& parent) const { return parent.isValid() ? 0 : columns; }

QString FoundModel::text(int row, int column) const {
  const Found& found = search_.found()[static_cast<size_t>(row)];
  switch (column) {
    case front_column: return search_.is_on_front(row) ? QString(QChar(0x25c6)) : QString();
    case seconds_column: return qt(seconds_text(found.seconds));
    case memory_column: return qt(bytes_text(found.memory_bytes));
    case mfu_column: return mfu_text(found);
    case exposed_column: return qt(share_text(found.exposed_share));
    case bubble_column: return qt(share_text(found.bubble));
    case limit_column: return qt(found.limit);
    default: return qt(text_of(found.candidate));
  }
}

QVariant FoundModel::number(int row, int column) const {
  const Found& found = search_.found()[static_cast<size_t>(row)];
  switch (column) {
    case front_column: return search_.is_on_front(row) ? 0 : 1;
    case seconds_column: return found.seconds;
    case memory_column: return found.memory_bytes;
    case mfu_column: return found.mfu;
    case exposed_column: return found.exposed_share;
    case bubble_column: return found.bubble;
    default: return text(row, column);
  }
}

QVariant FoundModel::data(const QModelIndex& index, int role) const {
  if (!index.isValid()) return {};
  const int row = index.row(), column = index.column();
  const Found& found = search_.found()[static_cast<size_t>(row)];
  switch (role) {
    case Qt::DisplayRole: return text(row, column);
    case sort_role: return number(row, column);
    case Qt::ToolTipRole:
      if (column == memory_column) return qt(exact_bytes(found.memory_bytes));
      return found_text(found, true);
    case Qt::AccessibleTextRole:
      return column == front_column ? search_.is_on_front(row) ? tr("on the front") : tr("not on the front")
                                    : QVariant();
    case Qt::FontRole: {
      const RunConfig& config = document_.config();
      QFont font;
      font.setBold(config.strategy == found.candidate.strategy && config.sharding.mode == found.candidate.mode);
      return font;
    }
    case Qt::TextAlignmentRole:
      if (column == front_column) return int(Qt::AlignCenter);
      return column == limit_column || column == strategy_column ? QVariant()
                                                                 : QVariant(Qt::AlignRight | Qt::AlignVCenter);
    default: return {};
  }
}

QVariant FoundModel::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation != Qt::Horizontal) return {};
  const QString titles[] = {tr("Front"), tr("Step"),    tr("Memory"), tr("Strategy"),
                            tr("MFU"),   tr("Exposed"), tr("Bubble"), tr("Limited by")};
  const QString tips[] = {tr("No other is faster and not larger, or smaller and not slower."),
                          tr("Predicted time of a step."),
                          tr("Memory of the heaviest device."),
                          tr("The numbers of the strategy; those of one device are left out."),
                          tr("Model FLOPs a second, as a share of the devices' peak."),
                          tr("Share of the step in which communication is hidden behind nothing."),
                          tr("Share of the step in which stages wait for others."),
                          tr("What takes most of the step: computing, communication or the bubble.")};
  if (role == Qt::DisplayRole) return titles[section];
  if (role == Qt::ToolTipRole) return tips[section];
  return {};
}

}  // namespace shardscope
