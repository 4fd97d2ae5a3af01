#pragma once

#include <QScrollArea>
#include <QSplitter>
#include <QStackedWidget>
#include <QTableView>
#include <QToolButton>
#include <QWidget>

#include "gui/look/line_label.h"
#include "gui/pages/memory_bars.h"
#include "gui/pages/memory_buffers.h"
#include "gui/pages/memory_curve_view.h"
#include "gui/pages/memory_life.h"
#include "gui/workspace/page.h"

namespace shardscope {

// Memory of the devices; beneath it either what is in use through a step, with the ten largest buffers at the peak, or
// where in the arena everything is. In a picture the buffers stand beneath the curve. The bars scroll under their
// legend and get the height they need, up to half of the page, until a person moves the border between them.
class MemoryPage : public QWidget, public Page {
  Q_OBJECT
 public:
  explicit MemoryPage(Workspace& workspace, QWidget* parent = nullptr);

  MemoryCurveView* curve() const { return curve_; }
  bool is_settled() const override { return curve_->is_settled(); }
  QTableView* buffers() const { return buffers_; }
  void show_arena(bool arena);

 signals:
  void searchWanted(int64_t devices);  // for strategies that fit

 protected:
  void resizeEvent(QResizeEvent* event) override;

 private:
  QWidget* make_head(Workspace& workspace);
  void make_buffers(Workspace& workspace);
  void arrange();
  void show_position();

  Workspace& workspace_;
  MemoryBars* bars_;
  MemoryLegend* legend_;
  QScrollArea* area_;
  QSplitter* splitter_;
  QStackedWidget* views_;
  QSplitter* use_;  // curve and buffers
  QWidget* head_;
  MemoryCurveView* curve_;
  QTableView* buffers_;
  LineLabel* position_;
  QToolButton* peak_;
  QToolButton* arena_;
  bool is_moved_ = false;
};

}  // namespace shardscope
