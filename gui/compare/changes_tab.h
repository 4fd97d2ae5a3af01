#pragma once

#include <QComboBox>
#include <QLabel>
#include <QStandardItemModel>
#include <QTreeView>
#include <QWidget>

#include "engine/compare/plan_difference.h"
#include "gui/background/background.h"
#include "gui/compare/pinned_plans.h"
#include "gui/look/empty_note.h"

namespace shardscope {

// What became different from a pinned plan to the shown one, as `shardrun diff` says it: settings, time by cause,
// memory, traffic and shardings, each with what changed most first.
class ChangesTab : public QWidget {
  Q_OBJECT
 public:
  ChangesTab(Workspace& workspace, PinnedPlans& pins, QWidget* parent = nullptr);

  bool is_busy() const { return comparing_.is_busy(); }

 protected:
  void showEvent(QShowEvent* event) override;

 private:
  void list_pins();
  void compare();
  void show_difference(const PlanDifference& difference);
  void show_state(const QString& text);

  Workspace& workspace_;
  PinnedPlans& pins_;
  QComboBox* from_;
  QLabel* step_;
  EmptyNote* none_;
  QStandardItemModel* model_;
  QTreeView* tree_;
  std::shared_ptr<const Plan> before_, after_;  // that are compared
  Background<PlanDifference> comparing_;
};

}  // namespace shardscope
