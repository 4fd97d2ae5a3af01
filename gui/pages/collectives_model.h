#pragma once

#include <QAbstractItemModel>
#include <array>
#include <map>
#include <optional>
#include <vector>

#include "gui/workspace/step_words.h"
#include "gui/workspace/workspace.h"
#include "viz/paint/network_layers.h"

namespace shardscope {

enum class CollectiveGroups : uint8_t { none, kind, axes, layer, array };

// The plan's collectives, and what a pipeline sends from stage to stage, one a row, perhaps beneath a row for each
// group that sums them up. Bytes and times are those of a training step, in all its microbatches; where a run of this
// very plan is known, what the exchange took and what ranks waited for each other before it stand beside what was
// predicted. Sorts by any column, numbers as numbers; equal ones stand in program order.
class CollectivesModel : public QAbstractItemModel {
  Q_OBJECT
 public:
  enum Column {
    kind_column,
    array_column,
    axes_column,
    wire_column,
    predicted_column,
    measured_column,
    waited_column,
    times_column,
    payload_column,
    phase_column,
    stage_column,  // of the pipeline
    op_column,
    cause_column,
    columns
  };
  // step_role: invalid for a group. number_role: bytes, seconds. bar_role: 0..1, of the longest in the column; times
  // have one scale.
  enum Role { step_role = Qt::UserRole, number_role, bar_role };

  explicit CollectivesModel(Workspace& workspace, QObject* parent = nullptr);

  // What is not shown does no work.
  void set_shown(bool shown);
  bool is_shown() const { return is_shown_; }

  void group_by(CollectiveGroups groups);
  CollectiveGroups groups() const { return grouped_by_; }
  // Only rows that have all words of a text in kind, arrays, ops or mesh axes; whatever the case.
  void filter(const QString& text);

  QModelIndex index(int row, int column, const QModelIndex& parent = {}) const override;
  QModelIndex parent(const QModelIndex& child) const override;
  int rowCount(const QModelIndex& parent = {}) const override;
  int columnCount(const QModelIndex& parent = {}) const override;
  QVariant data(const QModelIndex& index, int role) const override;
  QVariant headerData(int section, Qt::Orientation orientation, int role) const override;
  void sort(int column, Qt::SortOrder order) override;

  bool is_number(int column) const { return column >= wire_column && column <= payload_column; }
  QModelIndex index_of_step(std::optional<StepRef> step) const;
  ArrayRef array_of(StepRef step) const;  // that it moves, the first of several
  // "37 collectives, ...": counts, payload, wire bytes and times of all rows.
  QString totals_text() const;
  // Exact value of a cell, as it is copied.
  QString exact_text(const QModelIndex& index) const;

 private:
  struct Group {
    QString title;
    std::vector<StepRef> steps;
    std::array<double, columns> sums;  // of numbers
  };

  void take_plan();
  void arrange();
  void rearrange();
  bool measure();
  void find_longest();
  void tell(Column first, Column last);  // that these columns have changed
  QString title_of(const Instruction& instruction) const;
  bool is_grouped() const { return grouped_by_ != CollectiveGroups::none; }
  const std::vector<StepRef>& steps_below(const QModelIndex& index) const;
  const Instruction& instruction(StepRef id) const { return *find_step(*plan_, id); }
  int runs(StepRef id) const { return index_->runs(id); }
  double number(StepRef id, int column) const;  // NaN: not known
  QString number_text(double number, int column) const;
  QString exact_number_text(double number, int column) const;
  QString text(StepRef id, int column) const;
  QString cause_text(StepRef id) const;
  QVariant group_data(const Group& group, int column, int role) const;

  Workspace& workspace_;
  std::shared_ptr<const Plan> plan_;
  std::shared_ptr<const PlanIndex> index_;  // of plan_
  std::optional<NetworkLayers> layers_;
  std::vector<Group> list_;                    // one without a title where nothing is grouped
  std::map<StepRef, MeasuredTime> measured_;   // of all steps, where a run is known
  std::shared_ptr<const TraceMessage> trace_;  // the newest of these
  bool is_shown_ = false;
  std::map<StepRef, std::pair<int, int>> place_of_;  // group, row
  std::array<double, columns> longest_{}, longest_group_{};
  mutable std::map<StepRef, QString> causes_;  // of rows that were shown: long to tell
  CollectiveGroups grouped_by_ = CollectiveGroups::none;
  QStringList words_;
  StepWords step_words_;
  int sorted_by_ = wire_column;
  Qt::SortOrder order_ = Qt::DescendingOrder;
};

}  // namespace shardscope
