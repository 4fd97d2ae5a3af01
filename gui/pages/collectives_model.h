#pragma once

#include <QAbstractTableModel>
#include <vector>

#include "gui/panels/array_facts.h"

namespace shardscope {

// The plan's collectives, one a row, in program order; the measured time beside the predicted where a run of this very
// plan is known. Sorting goes by sort_role (numbers as numbers).
class CollectivesModel : public QAbstractTableModel {
  Q_OBJECT
 public:
  enum Column {
    kind_column,
    axes_column,
    payload_column,
    wire_column,
    predicted_column,
    measured_column,
    phase_column,
    op_column,
    cause_column,
    columns
  };
  enum Role { step_role = Qt::UserRole, sort_role };

  explicit CollectivesModel(Workspace& workspace, QObject* parent = nullptr);

  int rowCount(const QModelIndex& parent = {}) const override;
  int columnCount(const QModelIndex& parent = {}) const override;
  QVariant data(const QModelIndex& index, int role) const override;
  QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

  int row_of_step(int step) const;
  // "37 collectives, ...": counts, payload, wire bytes and times of all rows.
  QString totals_text() const;
  // Exact value of a cell, as it is copied.
  QString exact_text(int row, int column) const;

 private:
  void take_plan();
  QVariant number(const Step& step, int id, int column) const;

  Workspace& workspace_;
  std::shared_ptr<const Plan> plan_;
  std::vector<int> steps_;
};

// "data, model": the names of a step's mesh axes.
QString axes_text(const Mesh& mesh, const AxisList& axes);

}  // namespace shardscope
