#include "gui/compare/sweep_model.h"

#include <QFont>
#include <limits>

#include "engine/base/units.h"
#include "gui/compare/factorisations.h"
#include "gui/document/text.h"
#include "gui/look/appearance.h"

namespace shardscope {
namespace {

const PlanQuantity& mesh_quantity(int column) {
  switch (column) {
    case SweepModel::memory_column: return quantities::memory;
    case SweepModel::moved_column: return quantities::sent;
    case SweepModel::time_column: return quantities::time;
    default: return quantities::collectives;
  }
}

}  // namespace

SweepModel::SweepModel(const PlanSweep& sweep, const Document& document, QObject* parent)
    : QAbstractTableModel(parent), sweep_(sweep), document_(document) {
  connect(&sweep, &PlanSweep::started, this, [this] {
    beginResetModel();
    endResetModel();
  });
  connect(&sweep, &PlanSweep::planned, this,
          [this](int row) { emit dataChanged(index(row, 0), index(row, columns - 1)); });
  connect(&sweep, &PlanSweep::ended, this, &SweepModel::refresh);
  connect(&document, &Document::configChanged, this, &SweepModel::refresh);
  connect(&look(), &Look::changed, this, &SweepModel::refresh);
}

void SweepModel::refresh() {
  if (rowCount() > 0) emit dataChanged(index(0, 0), index(rowCount() - 1, columns - 1));
}

int SweepModel::rowCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(sweep_.plans().size());
}

int SweepModel::columnCount(const QModelIndex& parent) const { return parent.isValid() ? 0 : columns; }

QString SweepModel::text(const SweptPlan& plan, int column) const {
  if (column == mesh_column) return mesh_text(plan.config.mesh_axes);
  if (column == state_column) {
    if (!plan.error.isEmpty()) return tr("cannot be: %1").arg(plan.error.section('\n', 0, 0));
    if (!plan.excess.isEmpty()) return tr("does not fit into memory");
    return plan.facts ? tr("ok") : sweep_.is_running() ? QString(QChar(0x2026)) : tr("not planned");
  }
  if (!plan.facts) return {};
  return mesh_quantity(column).text(mesh_quantity(column).value(*plan.facts));
}

// What is not known comes last, however it is sorted first.
QVariant SweepModel::number(const SweptPlan& plan, int column) const {
  if (column == mesh_column) {
    QString digits;
    for (const MeshAxis& axis : plan.config.mesh_axes) digits += QString("%1 ").arg(axis.size, 8);
    return digits;
  }
  if (column == state_column) return text(plan, column);
  if (!plan.facts) return std::numeric_limits<double>::max();
  return mesh_quantity(column).value(*plan.facts);
}

QVariant SweepModel::data(const QModelIndex& index, int role) const {
  if (!index.isValid()) return {};
  const SweptPlan& plan = sweep_.plans().at(static_cast<size_t>(index.row()));
  const int column = index.column();
  switch (role) {
    case Qt::DisplayRole: return text(plan, column);
    case sort_role: return number(plan, column);
    case Qt::ToolTipRole:
      if (!plan.error.isEmpty()) return plan.error;
      if (!plan.excess.isEmpty()) return plan.excess;
      if ((column == memory_column || column == moved_column) && plan.facts)
        return qt(exact_bytes(mesh_quantity(column).value(*plan.facts)));
      return text(plan, column);
    case Qt::ForegroundRole:
      if (!plan.error.isEmpty()) return theme().muted;
      return plan.excess.isEmpty() ? QVariant() : QVariant(theme().warning);
    case Qt::FontRole: {
      QFont font;
      font.setBold(plan.config.mesh_axes == document_.config().mesh_axes);
      return font;
    }
    case Qt::TextAlignmentRole:
      return column == mesh_column || column == state_column ? QVariant() : QVariant(Qt::AlignRight | Qt::AlignVCenter);
    default: return {};
  }
}

QVariant SweepModel::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation != Qt::Horizontal) return {};
  if (role != Qt::DisplayRole && role != Qt::ToolTipRole) return {};
  const bool is_title = role == Qt::DisplayRole;
  switch (section) {
    case mesh_column: return is_title ? tr("Mesh") : tr("Size of each axis.");
    case state_column: return is_title ? tr("State") : tr("Whether it can be planned, and fits into memory.");
    default: return is_title ? mesh_quantity(section).title() : mesh_quantity(section).tip();
  }
}

}  // namespace shardscope
