#pragma once

#include <QScrollArea>
#include <QSplitter>
#include <QWidget>

#include "gui/workspace/workspace.h"
#include "viz/paint/memory_geometry.h"

namespace shardscope {

// Memory of each device by category as stacked bars, with the measured size where a run of this plan is known.
class MemoryBars : public QWidget {
  Q_OBJECT
 public:
  explicit MemoryBars(Workspace& workspace, QWidget* parent = nullptr);
  QSize sizeHint() const override;
  QSize minimumSizeHint() const override { return {300, 120}; }

 protected:
  void paintEvent(QPaintEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  bool event(QEvent* event) override;

 private:
  QRectF bar_place(int row) const;
  QString tip_at(const QPointF& point) const;
  double widest_bytes() const;
  void paint_legend(QPainter& painter, const Plan& plan) const;

  Workspace& workspace_;
};

// The life of the arena: each buffer a rectangle over steps (to the right) and offsets (upwards). The wheel zooms the
// steps about the cursor, dragging pans, double click shows all again.
class MemoryLife : public QWidget {
  Q_OBJECT
 public:
  explicit MemoryLife(Workspace& workspace, QWidget* parent = nullptr);
  QSize minimumSizeHint() const override { return {300, 160}; }

 protected:
  void paintEvent(QPaintEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;
  void wheelEvent(QWheelEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void mouseDoubleClickEvent(QMouseEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  bool event(QEvent* event) override;

 private:
  QRectF body() const;
  void take_plan();
  void rebuild();
  void show_steps(double first, double last);
  void zoom(double factor, double about);
  QString tip_at(const QPointF& point) const;
  void paint_axes(QPainter& painter) const;

  Workspace& workspace_;
  std::shared_ptr<const Plan> plan_;
  MemoryWindow window_;
  std::vector<BufferRect> rects_;
  std::vector<CategoryBytes> live_;
  QPointF dragged_from_;
  MemoryWindow dragged_window_;
};

// Both, one above the other; the bars get the height they need, up to half of the page, until a person moves the
// border between them.
class MemoryPage : public QWidget {
  Q_OBJECT
 public:
  explicit MemoryPage(Workspace& workspace, QWidget* parent = nullptr);

 protected:
  void resizeEvent(QResizeEvent* event) override;

 private:
  void arrange();

  MemoryBars* bars_;
  QScrollArea* area_;
  QSplitter* splitter_;
  bool is_moved_ = false;
};

}  // namespace shardscope
