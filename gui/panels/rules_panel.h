#pragma once

#include <QLabel>
#include <QTableView>
#include <QToolButton>
#include <QWidget>

#include "gui/panels/rules_model.h"

namespace shardscope {

// The table of rules, with the buttons that add, remove and move its lines.
class RulesPanel : public QWidget {
  Q_OBJECT
 public:
  explicit RulesPanel(Workspace& workspace, QWidget* parent = nullptr);

  // Opens the line at a place of the run file for editing; false where there is none.
  bool focus_place(const QString& place);
  QTableView* table() const { return table_; }

 private:
  QAction* add_action(const QString& text, const QString& tip, const QKeySequence& key, std::function<void()> act);
  int current_row() const { return table_->currentIndex().row(); }
  void add_rule_here();
  void constrain_selected();
  void remove_current();
  void move_current(int by);
  void select(SpecLine line);
  void show_state();

  Workspace& workspace_;
  RulesModel* model_;
  QTableView* table_;
  QAction *add_, *constrain_, *remove_, *up_, *down_;
  QLabel* note_;
  QString fault_;
};

}  // namespace shardscope
