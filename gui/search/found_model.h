#pragma once

#include <QAbstractTableModel>

#include "gui/document/document.h"
#include "gui/search/strategy_search.h"

namespace shardscope {

// The candidates of a search as a table, to be sorted by sort_role; rows are added while it runs. The strategy that the
// document has is bold.
class FoundModel : public QAbstractTableModel {
  Q_OBJECT
 public:
  enum Column {
    front_column,
    seconds_column,
    memory_column,
    strategy_column,
    mfu_column,
    exposed_column,
    bubble_column,
    limit_column,
    columns
  };
  enum Role { sort_role = Qt::UserRole };

  FoundModel(const StrategySearch& search, const Document& document, QObject* parent);

  int rowCount(const QModelIndex& parent = {}) const override;
  int columnCount(const QModelIndex& parent = {}) const override;
  QVariant data(const QModelIndex& index, int role) const override;
  QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

 private:
  void refresh();
  QString text(int row, int column) const;
  QVariant number(int row, int column) const;

  const StrategySearch& search_;
  const Document& document_;
  int rows_ = 0;
};

// "6.65 ms, 3.50 MiB, MFU 29.9 %: data 4, microbatch 2"; on lines of their own with what limits it: `in_full`.
QString found_text(const Found& found, bool in_full = false);

}  // namespace shardscope
