#include "gui/compare/sweep_model.h"

#include <QFont>
#include <limits>

#include "engine/base/units.h"
#include "gui/compare/factorisations.h"
#include "gui/document/text.h"
#include "gui/look/appearance.h"

namespace shardscope {

SweepModel::SweepModel(const MeshSweep& sweep, const Document& document, QObject* parent)
    : QAbstractTableModel(parent), sweep_(sweep), document_(document) {
  connect(&sweep, &MeshSweep::started, this, [this] {
    beginResetModel();
    endResetModel();
  });
  connect(&sweep, &MeshSweep::planned, this,
          [this](int row) { emit dataChanged(index(row, 0), index(row, columns - 1)); });
  connect(&sweep, &MeshSweep::ended, this, &SweepModel::refresh);
  connect(&document, &Document::configChanged, this, &SweepModel::refresh);
  connect(&look(), &Look::changed, this, &SweepModel::refresh);
}

void SweepModel::refresh() {
  if (rowCount() > 0) emit dataChanged(index(0, 0), index(rowCount() - 1, columns - 1));
}

int SweepModel::rowCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(sweep_.meshes().size());
}

int SweepModel::columnCount(const QModelIndex& parent) const { return parent.isValid() ? 0 : columns; }

QString SweepModel::text(const SweptMesh& mesh, int column) const {
  if (column == mesh_column) return mesh_text(mesh.axes);
  if (column == state_column) {
    if (!mesh.error.isEmpty()) return tr("cannot be: %1").arg(mesh.error.section('\n', 0, 0));
    if (!mesh.excess.isEmpty()) return tr("does not fit into memory");
    return mesh.totals ? tr("ok") : sweep_.is_running() ? QString(QChar(0x2026)) : tr("not planned");
  }
  if (!mesh.totals) return {};
  switch (column) {
    case memory_column: return qt(bytes_text(double(mesh.totals->memory_total)));
    case moved_column: return qt(bytes_text(mesh.totals->wire_bytes_per_device));
    case time_column: return qt(seconds_text(mesh.totals->seconds_per_step));
    default: return QString::number(mesh.collectives);
  }
}

// What is not known comes last, however it is sorted first.
QVariant SweepModel::number(const SweptMesh& mesh, int column) const {
  if (column == mesh_column) {
    QString digits;
    for (const MeshAxis& axis : mesh.axes) digits += QString("%1 ").arg(axis.size, 8);
    return digits;
  }
  if (column == state_column) return text(mesh, column);
  if (!mesh.totals) return std::numeric_limits<double>::max();
  switch (column) {
    case memory_column: return double(mesh.totals->memory_total);
    case moved_column: return mesh.totals->wire_bytes_per_device;
    case time_column: return mesh.totals->seconds_per_step;
    default: return double(mesh.collectives);
  }
}

QVariant SweepModel::data(const QModelIndex& index, int role) const {
  if (!index.isValid()) return {};
  const SweptMesh& mesh = sweep_.meshes().at(static_cast<size_t>(index.row()));
  const int column = index.column();
  switch (role) {
    case Qt::DisplayRole: return text(mesh, column);
    case sort_role: return number(mesh, column);
    case Qt::ToolTipRole:
      if (!mesh.error.isEmpty()) return mesh.error;
      if (!mesh.excess.isEmpty()) return mesh.excess;
      if (column == memory_column && mesh.totals) return qt(exact_bytes(double(mesh.totals->memory_total)));
      if (column == moved_column && mesh.totals) return qt(exact_bytes(mesh.totals->wire_bytes_per_device));
      return text(mesh, column);
    case Qt::ForegroundRole:
      if (!mesh.error.isEmpty()) return theme().muted;
      return mesh.excess.isEmpty() ? QVariant() : QVariant(theme().warning);
    case Qt::FontRole: {
      QFont font;
      font.setBold(mesh.axes == document_.config().mesh_axes);
      return font;
    }
    case Qt::TextAlignmentRole:
      return column == mesh_column || column == state_column ? QVariant() : QVariant(Qt::AlignRight | Qt::AlignVCenter);
    default: return {};
  }
}

QVariant SweepModel::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation != Qt::Horizontal) return {};
  const QString titles[] = {tr("Mesh"),        tr("Memory"),      tr("Sent a step"),
                            tr("Time a step"), tr("Collectives"), tr("State")};
  const QString tips[] = {tr("Size of each axis."),
                          tr("Memory of all arrays on the heaviest device."),
                          tr("Bytes that each device sends in a training step."),
                          tr("What the cost model predicts."),
                          tr("How many times a step the devices exchange parts of arrays."),
                          tr("Whether it can be planned, and fits into memory.")};
  if (role == Qt::DisplayRole) return titles[section];
  if (role == Qt::ToolTipRole) return tips[section];
  return {};
}

}  // namespace shardscope
