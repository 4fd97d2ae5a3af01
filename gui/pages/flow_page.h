#pragma once

#include <QCheckBox>
#include <QComboBox>
#include <QLabel>
#include <QLineEdit>
#include <QListView>
#include <QStackedWidget>
#include <QToolButton>
#include <QWidget>

#include "gui/pages/flow_canvas.h"
#include "gui/pages/flow_cause.h"
#include "gui/pages/flow_model.h"
#include "gui/workspace/page.h"

namespace shardscope {

// The program of a stage as it runs on the devices: as a graph of lanes, or as a list with a rail of ops. Beneath it
// the cause of the selected reshard, and what would make it needless.
class FlowPage : public QWidget, public Page {
  Q_OBJECT
 public:
  explicit FlowPage(Workspace& workspace, QWidget* parent = nullptr);

  FlowCanvas* canvas() const { return canvas_; }
  bool is_settled() const override { return canvas_->is_settled(); }
  QListView* list() const { return list_; }
  void show_list(bool list);

 protected:
  void showEvent(QShowEvent* event) override;
  void hideEvent(QHideEvent* event) override;

 private:
  QWidget* make_head();
  void make_list();
  void follow_view();
  void follow_step();
  void show_state();
  void show_found();

  Workspace& workspace_;
  FlowModel* model_;
  QStackedWidget* views_;
  FlowCanvas* canvas_;
  QListView* list_;
  FlowCause* cause_;
  QToolButton* as_graph_;
  QToolButton* as_list_;
  QLineEdit* search_;
  QLabel* found_;
  QCheckBox* fold_;
  QComboBox* phase_;
  QCheckBox* only_;
};

}  // namespace shardscope
