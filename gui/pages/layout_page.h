#pragma once

#include <QPixmap>
#include <optional>

#include "gui/look/tip_widget.h"
#include "gui/workspace/array_facts.h"
#include "viz/paint/layout_geometry.h"
#include "viz/paint/mesh_geometry.h"

namespace shardscope {

// The selected array drawn to scale with its shards, beside the mesh with its named axes. Hovering a shard or a device
// lights all devices that hold the same data, in both. Arrow keys move from device to device along the mesh axes.
class LayoutPage : public TipWidget {
  Q_OBJECT
 public:
  explicit LayoutPage(Workspace& workspace, QWidget* parent = nullptr);

  QSize minimumSizeHint() const override { return {280, 150}; }
  // Where things are drawn, in widget coordinates; empty when nothing is.
  QRectF device_rect(int device);
  QRectF shard_rect(int device);

 protected:
  void paintEvent(QPaintEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void leaveEvent(QEvent* event) override;
  void showEvent(QShowEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  QString tip_at(const QPointF& point) override;

 private:
  struct Scene {
    std::shared_ptr<const Plan> plan;
    ArrayFacts facts;
    LayoutPicture array;
    std::shared_ptr<const MeshPicture> mesh;
  };

  void expect_change();
  void renew();
  QRectF device_place(int device) const;
  QRectF shard_place(int device) const;
  void arrange();
  void draw();
  void paint_marks(QPainter& painter);
  std::optional<int> device_under(const QPointF& point) const;
  void paint_heading(QPainter& painter) const;
  void paint_array_labels(QPainter& painter) const;
  void paint_mesh_labels(QPainter& painter) const;
  void paint_legend(QPainter& painter) const;

  Workspace& workspace_;
  std::shared_ptr<const Scene> scene_;
  bool is_stale_ = true;  // laid out anew when it is looked at
  QRectF array_place_;
  QPointF mesh_origin_;
  double mesh_cell_ = 0;
  QPixmap drawn_;  // array and mesh without what is marked in them; null: to be drawn anew
};

}  // namespace shardscope
