#pragma once

#include <QPixmap>
#include <QScrollArea>
#include <QSplitter>
#include <QWidget>

#include "gui/look/tip_widget.h"
#include "gui/pages/stage_box.h"
#include "gui/workspace/workspace.h"
#include "viz/paint/memory_geometry.h"

namespace shardscope {

// What the colours of the categories mean, and how much each takes; in a pipeline on the devices of the stage that is
// shown.
class MemoryLegend : public QWidget {
  Q_OBJECT
 public:
  explicit MemoryLegend(Workspace& workspace, QWidget* parent = nullptr);
  bool hasHeightForWidth() const override { return true; }
  int heightForWidth(int width) const override;

 protected:
  void paintEvent(QPaintEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;

 private:
  // Calls `each` with every category's place and text; gives the height of all.
  template <class Each>
  int arrange(int width, const Each& each) const;

  Workspace& workspace_;
};

// Memory of each device by category as stacked bars, with the measured size where a run of this plan is known.
class MemoryBars : public TipWidget {
  Q_OBJECT
 public:
  explicit MemoryBars(Workspace& workspace, QWidget* parent = nullptr);
  QSize sizeHint() const override;
  QSize minimumSizeHint() const override { return {280, 60}; }

 protected:
  void paintEvent(QPaintEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  QString tip_at(const QPointF& point) override;

 private:
  QRectF bar_place(int row) const;
  std::optional<int> device_under(const QPointF& point) const;
  double widest_bytes() const;

  Workspace& workspace_;
};

// The life of the arena, in a pipeline that of a stage: each buffer a rectangle over steps (to the right) and offsets
// (upwards); those too thin for it are summed. The wheel zooms the steps about the cursor, with Ctrl the bytes;
// dragging and arrow keys pan, + and - zoom, Home or a double click shows all again.
class MemoryLife : public TipWidget {
  Q_OBJECT
 public:
  explicit MemoryLife(Workspace& workspace, QWidget* parent = nullptr);
  QSize minimumSizeHint() const override { return {280, 80}; }
  QRectF body() const;  // where buffers are drawn, in widget coordinates

 protected:
  void paintEvent(QPaintEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;
  void showEvent(QShowEvent* event) override;
  void wheelEvent(QWheelEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void mouseDoubleClickEvent(QMouseEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  QString tip_at(const QPointF& point) override;

 private:
  void take_plan();
  void take_stage();
  void place_stage_box();
  const ArenaLayout& arena() const { return plan_->arenas[static_cast<size_t>(stage_)]; }
  const Sequence& sequence() const { return plan_->program.main(stage_); }
  QString buffer_text(const Buffer& buffer) const;
  void rebuild();
  void show_window(MemoryWindow window);  // as much of it as there is
  void show_all();
  void zoom_steps(double factor, double about);
  void zoom_bytes(double factor, double about);
  void pan(const MemoryWindow& from, double steps, double bytes);
  int step_under(double x) const;
  double bytes_under(double y) const;
  void paint_axes(QPainter& painter) const;
  void draw_buffers();

  Workspace& workspace_;
  StageBox* stage_box_;
  std::shared_ptr<const Plan> plan_;
  int stage_ = -1;
  MemoryWindow window_;
  MemoryPicture picture_;
  QPixmap drawn_;  // the picture; null: to be drawn anew
  std::vector<CategoryBytes> live_;
  QPointF dragged_from_;
  MemoryWindow dragged_window_;
};

// All of it, one above the other; the bars scroll under their legend and get the height they need, up to half of the
// page, until a person moves the border between them.
class MemoryPage : public QWidget {
  Q_OBJECT
 public:
  explicit MemoryPage(Workspace& workspace, QWidget* parent = nullptr);

 protected:
  void resizeEvent(QResizeEvent* event) override;

 private:
  void arrange();

  MemoryBars* bars_;
  MemoryLegend* legend_;
  QScrollArea* area_;
  QSplitter* splitter_;
  bool is_moved_ = false;
};

}  // namespace shardscope
