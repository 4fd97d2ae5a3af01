#pragma once

#include <QAbstractTableModel>
#include <optional>
#include <vector>

#include "viz/paint/replay.h"

namespace shardscope {

// The pieces of a leg of a replay as rows, in order of time: who gives which piece to whom. Those that are on their way
// are marked.
class ReplayList : public QAbstractTableModel {
  Q_OBJECT
 public:
  enum Column { when_column, from_column, to_column, piece_column, bytes_column, columns };
  using QAbstractTableModel::QAbstractTableModel;

  // Of pieces that stay where they are there is no row; with `only`, rows of those from and to this device.
  void show(const std::vector<TimedPiece>& pieces, DType dtype, std::optional<int> only);
  void set_moment(const ReplayMoment& moment);
  // The first row that is on its way; -1: none.
  int row_on_its_way() const;
  // Tabs between columns, exact bytes, a line with the titles first.
  QString copied_text() const;

  int rowCount(const QModelIndex& parent = {}) const override {
    return parent.isValid() ? 0 : static_cast<int>(rows_.size());
  }
  int columnCount(const QModelIndex& parent = {}) const override { return parent.isValid() ? 0 : columns; }
  QVariant data(const QModelIndex& index, int role) const override;
  QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

 private:
  bool is_on_its_way(const TimedPiece& piece) const;
  QString text(const TimedPiece& row, int column, bool exact) const;

  std::vector<TimedPiece> rows_;
  DType dtype_ = DType::f32;
  ReplayMoment moment_;
};

}  // namespace shardscope
