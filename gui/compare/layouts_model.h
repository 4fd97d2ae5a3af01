#pragma once

#include <QAbstractTableModel>
#include <vector>

#include "gui/compare/pinned_plans.h"

namespace shardscope {

// How each array is sharded in the shown plan and in the pinned ones, optimizer state included: the arrays whose
// layouts differ, or all of them.
class LayoutsModel : public QAbstractTableModel {
  Q_OBJECT
 public:
  enum Role { array_role = Qt::UserRole };

  LayoutsModel(Workspace& workspace, const PinnedPlans& pins, QObject* parent);

  void set_shows_all(bool all);
  // Looks again, where plans have changed since. Nothing is looked up before.
  void refresh();
  void let_refresh();

  int rowCount(const QModelIndex& parent = {}) const override;
  int columnCount(const QModelIndex& parent = {}) const override;
  QVariant data(const QModelIndex& index, int role) const override;
  QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

 private:
  struct Row {
    std::string name;
    ArrayRef array;
    const Sharding* shown;  // null: of a pinned plan alone
  };
  bool differs(const std::string& array, const Sharding& shown) const;

  Workspace& workspace_;
  const PinnedPlans& pins_;
  std::shared_ptr<const Plan> shown_;  // whose layouts are in rows_; none where nothing is pinned
  std::vector<Row> rows_;
  bool shows_all_ = false, is_old_ = true;
};

}  // namespace shardscope
