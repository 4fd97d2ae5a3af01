#pragma once

#include <QLabel>
#include <QTableView>
#include <QWidget>

#include "gui/pages/collectives_model.h"
#include "gui/pages/mode_comparison.h"

namespace shardscope {

// Both layout modes side by side, and the table of collectives with its total line. Ctrl+C copies the selected rows
// (all, when none is) as text with exact values.
class CollectivesPage : public QWidget {
  Q_OBJECT
 public:
  explicit CollectivesPage(Workspace& workspace, QWidget* parent = nullptr);

  QString copied_text() const;
  QTableView* table() const { return table_; }
  ModeComparison* comparison() const { return comparison_; }

 protected:
  bool eventFilter(QObject* watched, QEvent* event) override;

 private:
  void follow_step();
  void show_totals();

  Workspace& workspace_;
  ModeComparison* comparison_;
  CollectivesModel* model_;
  QTableView* table_;
  QLabel* totals_;
  QLabel* empty_;
};

}  // namespace shardscope
