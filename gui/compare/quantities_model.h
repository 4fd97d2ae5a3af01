#pragma once

#include <QAbstractTableModel>

#include "gui/compare/pinned_plans.h"

namespace shardscope {

// What the shown plan and the pinned ones take and move, side by side: a quantity a row, a plan a column, the shown one
// first; of a pinned one also how much more or less it is than the shown one. Below them every setting of the run files
// in which any of them differ.
class QuantitiesModel : public QAbstractTableModel {
  Q_OBJECT
 public:
  enum Row {
    mesh_row,
    mode_row,
    memory_row,
    moved_row,
    time_row,
    exposed_row,
    mfu_row,
    hfu_row,
    tokens_row,
    hours_row,
    cost_row,
    work_row,
    collectives_row,
    rows
  };

  QuantitiesModel(Workspace& workspace, const PinnedPlans& pins, QObject* parent);

  int rowCount(const QModelIndex& parent = {}) const override;
  int columnCount(const QModelIndex& parent = {}) const override;
  QVariant data(const QModelIndex& index, int role) const override;
  QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

 private:
  struct Setting {
    QString name;
    std::array<QString, 1 + PinnedPlans::count> values;  // as the run file says it; of the shown plan first
  };

  void refresh();
  std::vector<Setting> differing_settings() const;
  std::optional<double> number(int row, int column) const;
  QString text(int row, int column) const;

  Workspace& workspace_;
  const PinnedPlans& pins_;
  std::vector<Setting> settings_;
};

}  // namespace shardscope
