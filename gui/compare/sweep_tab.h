#pragma once

#include <QCheckBox>
#include <QHBoxLayout>
#include <QLabel>
#include <QProgressBar>
#include <QPushButton>
#include <QSortFilterProxyModel>
#include <QSpinBox>
#include <QTableView>
#include <QWidget>

#include "gui/compare/sweep_model.h"
#include "gui/look/empty_note.h"
#include "gui/look/footer_note.h"

namespace shardscope {

// Every way to lay so many devices out over the axes, planned in the background: a table to sort, and one click to take
// a mesh. An axis can keep its size.
class SweepTab : public QWidget {
  Q_OBJECT
 public:
  explicit SweepTab(Workspace& workspace, QWidget* parent = nullptr);

  bool is_busy() const { return sweep_.is_running(); }
  void start();

 private:
  void make_axes();
  void show_state();
  QString selected_error() const;
  void take(const QModelIndex& index);
  std::vector<bool> fixed() const;
  bool is_of_shown_config() const;

  Workspace& workspace_;
  PlanSweep sweep_;
  RunConfig swept_;  // what was planned, the mesh aside
  SweepModel* model_;
  QSortFilterProxyModel* sorted_;
  QSpinBox* devices_;
  int64_t mesh_devices_ = 0;  // of the mesh whose number is in the field, unless another one was typed
  QHBoxLayout* axes_line_;
  std::vector<std::string> axis_names_;
  std::vector<QCheckBox*> keep_;
  QPushButton *plan_, *take_;
  QProgressBar* progress_;
  QTableView* table_;
  FooterNote* note_;
  EmptyNote* none_;
};

}  // namespace shardscope
