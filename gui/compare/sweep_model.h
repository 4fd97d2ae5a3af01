#pragma once

#include <QAbstractTableModel>

#include "gui/compare/plan_sweep.h"
#include "gui/workspace/workspace.h"

namespace shardscope {

// The meshes of a sweep as a table, to be sorted by sort_role. The mesh that the document has is bold.
class SweepModel : public QAbstractTableModel {
  Q_OBJECT
 public:
  enum Column { mesh_column, memory_column, moved_column, time_column, collectives_column, state_column, columns };
  enum Role { sort_role = Qt::UserRole };

  SweepModel(const PlanSweep& sweep, const Document& document, QObject* parent);

  int rowCount(const QModelIndex& parent = {}) const override;
  int columnCount(const QModelIndex& parent = {}) const override;
  QVariant data(const QModelIndex& index, int role) const override;
  QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

 private:
  QString text(const SweptPlan& plan, int column) const;
  QVariant number(const SweptPlan& plan, int column) const;
  void refresh();

  const PlanSweep& sweep_;
  const Document& document_;
};

}  // namespace shardscope
