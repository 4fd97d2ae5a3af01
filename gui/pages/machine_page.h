#pragma once

#include <QComboBox>
#include <QLabel>
#include <QPushButton>
#include <QTreeView>

#include "gui/look/line_label.h"
#include "gui/pages/machine_canvas.h"
#include "gui/pages/machine_traffic.h"
#include "gui/workspace/page.h"

namespace shardscope {

// The machine that plans are made for: which one (typing finds it), what its levels and links are, how the mesh is laid
// out on them, and what each of the mesh's axes moves over which links in a step. An axis that would be better off on
// faster links is marked, with the edit that puts it there.
class MachinePage : public QWidget, public Page {
  Q_OBJECT
 public:
  explicit MachinePage(Workspace& workspace, QWidget* parent = nullptr);

 protected:
  void showEvent(QShowEvent* event) override;

 private:
  QWidget* make_head();
  void make_table();
  void show_plan();
  void show_choice();

  Workspace& workspace_;
  QComboBox *machines_, *stacks_;
  QString shown_;  // in it
  LineLabel* device_;
  QLabel* advice_;
  QPushButton* move_;
  MachineCanvas* canvas_;
  MachineTraffic* traffic_;
  QTreeView* table_;
};

}  // namespace shardscope
