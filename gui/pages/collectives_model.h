#pragma once

#include <QAbstractTableModel>
#include <map>
#include <vector>

#include "gui/workspace/workspace.h"

namespace shardscope {

// The plan's collectives, and what a pipeline sends from stage to stage, one a row; the measured time beside the
// predicted where a run of this very plan is known. Sorts by any column, numbers as numbers; equal ones stand in
// program order.
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
    stage_column,  // of the pipeline
    op_column,
    cause_column,
    columns
  };
  enum Role { step_role = Qt::UserRole };

  explicit CollectivesModel(Workspace& workspace, QObject* parent = nullptr);

  int rowCount(const QModelIndex& parent = {}) const override;
  int columnCount(const QModelIndex& parent = {}) const override;
  QVariant data(const QModelIndex& index, int role) const override;
  QVariant headerData(int section, Qt::Orientation orientation, int role) const override;
  void sort(int column, Qt::SortOrder order) override;

  int row_of_step(std::optional<StepRef> step) const;
  // "37 collectives, ...": counts, payload, wire bytes and times of all rows.
  QString totals_text() const;
  // Exact value of a cell, as it is copied.
  QString exact_text(int row, int column) const;

 private:
  void take_plan();
  const Step& step(StepRef id) const { return *find_step(*plan_, id); }
  QVariant number(StepRef id, int column) const;
  QString text(StepRef id, int column) const;
  QString cause_text(StepRef id) const;
  void arrange();

  Workspace& workspace_;
  std::shared_ptr<const Plan> plan_;
  std::vector<StepRef> steps_;                 // by row
  mutable std::map<StepRef, QString> causes_;  // of rows that were shown: long to tell
  int sorted_by_ = wire_column;
  Qt::SortOrder order_ = Qt::DescendingOrder;
};

}  // namespace shardscope
