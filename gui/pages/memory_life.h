#pragma once

#include <vector>

#include "gui/look/kept_picture.h"
#include "gui/look/pan_zoom_canvas.h"
#include "gui/workspace/workspace.h"
#include "viz/paint/memory_geometry.h"

namespace shardscope {

// The life of the arena, in a pipeline that of a stage: each buffer a rectangle over steps (to the right) and offsets
// (upwards); those too thin for it are summed. The wheel zooms the steps about the cursor, with Ctrl the bytes;
// dragging and arrow keys pan, + and - zoom, Home or a double click shows all again.
class MemoryLife : public PanZoomCanvas {
  Q_OBJECT
 public:
  explicit MemoryLife(Workspace& workspace, QWidget* parent = nullptr);
  QSize minimumSizeHint() const override { return {280, 80}; }
  void show_all() override;
  QRectF body() const;  // where buffers are drawn, in widget coordinates

 protected:
  void paintEvent(QPaintEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;
  void showEvent(QShowEvent* event) override;
  void zoom_about(double factor, const QPointF& point, Qt::KeyboardModifiers keys) override;
  void drag(const QPointF& by, const QPointF& to) override;
  void click(const QPointF& point) override;
  void keyPressEvent(QKeyEvent* event) override;
  QString tip_at(const QPointF& point) override;

 private:
  void take_plan();
  void take_stage();
  const ArenaLayout& arena() const { return plan_->arenas[static_cast<size_t>(stage_)]; }
  const Sequence& sequence() const { return plan_->program.main(stage_); }
  QString buffer_text(const Buffer& buffer) const;
  void rebuild();
  void show_window(MemoryWindow window);  // as much of it as there is
  void pan(double steps, double bytes);
  int step_under(double x) const;
  double bytes_under(double y) const;
  void paint_axes(QPainter& painter) const;
  void paint_buffers(QPainter& painter) const;

  Workspace& workspace_;
  std::shared_ptr<const Plan> plan_;
  int stage_ = -1;
  MemoryWindow window_;
  MemoryPicture picture_;
  KeptPicture drawn_;
  std::vector<CategoryBytes> live_;
};

}  // namespace shardscope
