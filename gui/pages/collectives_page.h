#pragma once

#include <QComboBox>
#include <QLabel>
#include <QLineEdit>
#include <QTreeView>
#include <QWidget>

#include "gui/pages/collectives_model.h"
#include "gui/pages/mode_comparison.h"
#include "gui/workspace/page.h"

namespace shardscope {

// Both layout modes side by side, and the table of collectives, which can be grouped and filtered, with its total line.
// Ctrl+C copies the selected rows (all, when none is; of a group its own) as text with exact values.
class CollectivesPage : public QWidget, public Page {
  Q_OBJECT
 public:
  explicit CollectivesPage(Workspace& workspace, QWidget* parent = nullptr);

  QString copied_text() const;
  QTreeView* table() const { return table_; }
  bool is_settled() const override { return !comparison_->is_busy(); }

 protected:
  bool eventFilter(QObject* watched, QEvent* event) override;
  void showEvent(QShowEvent* event) override;
  void hideEvent(QHideEvent* event) override;

 private:
  QWidget* make_head();
  void make_table();
  void choose(const QModelIndex& index);
  void follow_step();
  void show_totals();

  Workspace& workspace_;
  ModeComparison* comparison_;
  CollectivesModel* model_;
  QTreeView* table_;
  QComboBox* groups_;
  QLineEdit* filter_;
  QLabel* totals_;
  QLabel* empty_;
  bool is_following_ = false;
};

}  // namespace shardscope
