#pragma once

#include <QAbstractTableModel>
#include <optional>
#include <vector>

#include "gui/document/spec_line.h"
#include "gui/workspace/workspace.h"

namespace shardscope {

// The run file's table of specs, a line a row, with what each line matches and decides in the plan. The line that
// decided the selected array is marked. Names, kinds and placement are edited in place, as text; a placement for all
// lines that are selected.
class RulesModel : public QAbstractTableModel {
  Q_OBJECT
 public:
  enum Column { place_column, names_column, kinds_column, placement_column, matched_column, decided_column, columns };

  explicit RulesModel(Workspace& workspace, QObject* parent = nullptr);

  int rowCount(const QModelIndex& parent = {}) const override;
  int columnCount(const QModelIndex& parent = {}) const override;
  QVariant data(const QModelIndex& index, int role) const override;
  QVariant headerData(int section, Qt::Orientation orientation, int role) const override;
  Qt::ItemFlags flags(const QModelIndex& index) const override;
  // Takes a text as it is typed; false where it cannot be read, see fault().
  bool setData(const QModelIndex& index, const QVariant& value, int role) override;

  SpecLine line(int row) const { return rows_.at(static_cast<size_t>(row)).line; }
  int row_of(SpecLine line) const;
  int row_at(const QString& place) const;  // of a place of the run file, or of one below it; -1

  // The lines that an edit of one of them is of.
  void edit_together(std::vector<SpecLine> lines) { together_ = std::move(lines); }

  // What is wrong with a text for a cell; empty where it would be taken.
  QString fault(const QModelIndex& index, const QString& text) const;

 private:
  // What the plan and the selection say of a line.
  struct Status {
    std::optional<SpecLineUse> use;  // none while the plan is not of this file as it stands
    QString errors;
    bool decides_selected = false;
  };
  struct Row {
    SpecLine line;
    QString place, names, kinds, placement;
    mutable std::optional<Status> status;  // looked up when it is shown
  };

  void refresh();
  void refresh_status();
  const Status& status(const Row& row) const;
  Status look_up(const Row& row) const;
  QString tip(const Row& row, int column) const;

  Workspace& workspace_;
  std::vector<Row> rows_;
  std::vector<SpecLine> together_;
  QString decider_;  // place of the line that decided the selected array
};

}  // namespace shardscope
