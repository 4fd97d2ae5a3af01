#include "gui/pages/machine_traffic.h"

#include "engine/base/units.h"
#include "gui/document/text.h"
#include "gui/look/appearance.h"
#include "gui/pages/machine_words.h"
#include "gui/workspace/step_facts.h"

namespace shardscope {

MachineTraffic::MachineTraffic(Workspace& workspace, QObject* parent)
    : QAbstractTableModel(parent), workspace_(workspace) {}

void MachineTraffic::show_plan(std::shared_ptr<const Plan> plan) {
  if (plan == plan_) return;
  beginResetModel();
  plan_ = std::move(plan);
  rows_.clear();
  slow_.reset();
  if (plan_) {
    rows_ = axis_traffic(*plan_);
    slow_ = slow_traffic(rows_, plan_->machine);
  }
  endResetModel();
}

QString MachineTraffic::advice() const {
  if (!slow_) return {};
  const AxisTraffic &slow = rows_[size_t(slow_->slow)], &fast = rows_[size_t(slow_->fast)];
  return tr("%1 moves %2 a step over %3 (%4), while %5 moves %6 over %7 (%8).")
      .arg(text(slow, axes_column), text(slow, bytes_column), text(slow, link_column), text(slow, rate_column),
           text(fast, axes_column), text(fast, bytes_column), text(fast, link_column), text(fast, rate_column));
}

std::optional<AxisIndex> MachineTraffic::axis_to_move() const {
  if (!slow_ || !workspace_.document.config().mesh_devices.empty()) return std::nullopt;
  const AxisIndex axis = rows_[size_t(slow_->slow)].axes.back();
  return axis + 1 < plan_->mesh.axis_count() ? std::optional(axis) : std::nullopt;
}

int MachineTraffic::rowCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(rows_.size());
}

int MachineTraffic::columnCount(const QModelIndex& parent) const { return parent.isValid() ? 0 : columns; }

QString MachineTraffic::text(const AxisTraffic& row, int column) const {
  const Level* level = row.level < 0 ? nullptr : &plan_->machine.levels[size_t(row.level)];
  switch (column) {
    case axes_column: return axes_text(plan_->mesh, row.axes);
    case link_column: return level ? qt(level->name) : tr("none");
    case rate_column: return level ? rate_text(level->bytes_per_second) : QString();
    case exchanges_column: return QString::number(row.exchanges);
    case bytes_column: return qt(bytes_text(row.wire_bytes));
    default: return qt(seconds_text(row.seconds));
  }
}

QString MachineTraffic::exact_text(const AxisTraffic& row, int column) const {
  if (column == bytes_column) return qt(exact_bytes(row.wire_bytes));
  if (column == seconds_column && plan_->simulation.seconds > 0)
    return tr("%1 of the step, were nothing hidden").arg(qt(share_text(row.seconds / plan_->simulation.seconds)));
  if (column == link_column && row.level >= 0) return level_text(*plan_, row.level);
  return text(row, column);
}

QVariant MachineTraffic::data(const QModelIndex& index, int role) const {
  if (!index.isValid()) return {};
  const AxisTraffic& row = rows_[size_t(index.row())];
  switch (role) {
    case Qt::DisplayRole: return text(row, index.column());
    case Qt::ToolTipRole: return exact_text(row, index.column());
    case Qt::TextAlignmentRole:
      return index.column() >= rate_column ? QVariant(Qt::AlignRight | Qt::AlignVCenter) : QVariant();
    case Qt::ForegroundRole:
      return slow_ && slow_->slow == index.row() && index.column() <= rate_column ? QVariant(theme().warning)
                                                                                  : QVariant();
    case bar_role:
      return index.column() == seconds_column && rows_.front().seconds > 0
                 ? QVariant(row.seconds / rows_.front().seconds)
                 : QVariant();
    default: return {};
  }
}

QVariant MachineTraffic::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation != Qt::Horizontal) return {};
  if (role == Qt::TextAlignmentRole && section >= rate_column) return {Qt::AlignRight | Qt::AlignVCenter};
  if (role != Qt::DisplayRole) return {};
  const QString titles[] = {tr("Mesh axes"), tr("Over"),         tr("Link rate"),
                            tr("Exchanges"), tr("Bytes a step"), tr("Time a step")};
  return titles[section];
}

}  // namespace shardscope
