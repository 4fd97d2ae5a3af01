#pragma once

#include <QTableView>
#include <QToolButton>
#include <QWidget>

#include "gui/look/line_label.h"
#include "gui/panels/rules_delegate.h"
#include "gui/panels/rules_model.h"

namespace shardscope {

// The table of rules, with the buttons that add, remove and move its lines. Several can be selected: what is typed,
// pasted or removed is of all of them, one undoable step.
class RulesPanel : public QWidget {
  Q_OBJECT
 public:
  explicit RulesPanel(Workspace& workspace, QWidget* parent = nullptr);
  ~RulesPanel() override;

  // Opens the line at a place of the run file for editing; false where there is none.
  bool focus_place(const QString& place);
  QTableView* table() const { return table_; }

 private:
  QAction* add_action(const QString& text, const QString& tip, const QKeySequence& key, std::function<void()> act);
  int current_row() const { return table_->currentIndex().row(); }
  void add_rule_here();
  void constrain_selected();
  void remove_selected();
  void copy();
  void paste();
  std::vector<SpecLine> selected() const;
  void move_current(int by);
  void select(SpecLine line);
  void show_state();

  Workspace& workspace_;
  RulesModel* model_;
  QTableView* table_;
  RulesDelegate* delegate_;
  QAction *add_, *constrain_, *remove_, *up_, *down_, *copy_, *paste_;
  LineLabel* note_;
  QString fault_;
};

}  // namespace shardscope
