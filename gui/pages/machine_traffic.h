#pragma once

#include <QAbstractTableModel>
#include <vector>

#include "gui/workspace/workspace.h"
#include "viz/paint/axis_traffic.h"

namespace shardscope {

// What is exchanged along the mesh's axes in a training step of the shown plan, over which links of the machine, one
// list of axes a row.
class MachineTraffic : public QAbstractTableModel {
  Q_OBJECT
 public:
  enum Column { axes_column, link_column, rate_column, exchanges_column, bytes_column, seconds_column, columns };
  enum Role { bar_role = Qt::UserRole };  // of seconds: 0..1, of the longest

  explicit MachineTraffic(Workspace& workspace, QObject* parent = nullptr);

  void show_plan(std::shared_ptr<const Plan> plan);

  const AxisList& axes(int row) const { return rows_[static_cast<size_t>(row)].axes; }
  // What would be faster elsewhere, as a sentence; empty: nothing.
  QString advice() const;
  // The axis that should be innermost on the mesh for that; nothing where it is, or where there is no advice.
  std::optional<AxisIndex> axis_to_move() const;

  int rowCount(const QModelIndex& parent = {}) const override;
  int columnCount(const QModelIndex& parent = {}) const override;
  QVariant data(const QModelIndex& index, int role) const override;
  QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

 private:
  QString text(const AxisTraffic& row, int column) const;
  QString exact_text(const AxisTraffic& row, int column) const;

  Workspace& workspace_;
  std::shared_ptr<const Plan> plan_;
  std::vector<AxisTraffic> rows_;
  std::optional<SlowTraffic> slow_;
};

}  // namespace shardscope
