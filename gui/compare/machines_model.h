#pragma once

#include <QAbstractTableModel>
#include <QStringList>

#include "gui/compare/plan_sweep.h"
#include "gui/workspace/workspace.h"

namespace shardscope {

// One strategy on several machines: a quantity a row, a machine a column. The machine that the document has is bold.
class MachinesModel : public QAbstractTableModel {
  Q_OBJECT
 public:
  enum Row {
    state_row,
    time_row,
    range_row,
    mfu_row,
    tokens_row,
    exposed_row,
    memory_row,
    limit_row,
    moved_row,
    hours_row,
    cost_row,
    rows
  };

  MachinesModel(const PlanSweep& sweep, const Document& document, QObject* parent);

  // Of the columns; the sweep's plans are of the first of them.
  void set_machines(const QStringList& names);
  const QStringList& machines() const { return names_; }

  int rowCount(const QModelIndex& parent = {}) const override;
  int columnCount(const QModelIndex& parent = {}) const override;
  QVariant data(const QModelIndex& index, int role) const override;
  QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

 private:
  const SweptPlan* plan_of(int column) const;
  bool is_best(int row, int column) const;
  void refresh();

  const PlanSweep& sweep_;
  const Document& document_;
  QStringList names_;
};

}  // namespace shardscope
