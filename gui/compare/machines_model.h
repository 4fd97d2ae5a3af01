#pragma once

#include <QAbstractTableModel>
#include <QStringList>
#include <QVariant>
#include <optional>

#include "gui/compare/plan_sweep.h"
#include "gui/workspace/workspace.h"

namespace shardscope {

// One strategy on several machines: a quantity a row, a machine a column. The machine that the document has is bold.
class MachinesModel : public QAbstractTableModel {
  Q_OBJECT
 public:
  enum Row {
    state_row,
    software_row,
    time_row,
    range_row,
    mfu_row,
    hfu_row,
    tokens_row,
    exposed_row,
    memory_row,
    limit_row,
    moved_row,
    hours_row,
    price_row,
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
  // Of the price of an hour of a device, which is kept between starts of the program.
  Qt::ItemFlags flags(const QModelIndex& index) const override;
  bool setData(const QModelIndex& index, const QVariant& value, int role) override;
  QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

 private:
  const SweptPlan* plan_of(int column) const;
  std::optional<double> value_of(int row, int column) const;  // of a row that is a number; nothing: not known
  bool is_verified(int column) const;                         // measurements back what is predicted
  bool is_best(int row, int column) const;
  void refresh();

  const PlanSweep& sweep_;
  const Document& document_;
  QStringList names_;
  QVariantMap prices_;  // an hour of a device, by the machine's name, in place of that of its file
};

}  // namespace shardscope
