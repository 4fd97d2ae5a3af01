#pragma once

#include <memory>
#include <optional>

#include "gui/look/kept_picture.h"
#include "gui/look/pan_zoom_canvas.h"
#include "gui/pages/layout_zoom.h"
#include "gui/workspace/workspace.h"
#include "viz/paint/mesh_painter.h"
#include "viz/paint/replay.h"

namespace shardscope {

// The mesh on which a replay is played. The wheel zooms about the cursor, dragging pans, a click selects a device: then
// the arrows of its pieces alone are drawn.
class ReplayCanvas : public PanZoomCanvas {
  Q_OBJECT
 public:
  explicit ReplayCanvas(Workspace& workspace, QWidget* parent = nullptr);

  void show_replay(std::shared_ptr<const Replay> replay);  // null: none
  // Those of the leg that the next moments are of.
  void show_pieces(std::shared_ptr<const std::vector<TimedPiece>> pieces);
  void show_moment(const ReplayMoment& moment);
  void zoom(double factor);
  void show_all() override;

  QSize minimumSizeHint() const override { return {180, 120}; }
  QRectF device_rect(int device) const;

 protected:
  void paintEvent(QPaintEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;
  void zoom_about(double factor, const QPointF& point, Qt::KeyboardModifiers keys = {}) override;
  void drag(const QPointF& by, const QPointF& to) override;
  void click(const QPointF& point) override;
  QString tip_at(const QPointF& point) override;

 private:
  QRectF room() const;
  MeshPlace place() const;
  std::optional<int> device_under(const QPointF& point) const;

  Workspace& workspace_;
  std::shared_ptr<const Replay> replay_;
  MeshPicture picture_;
  ReplayMoment moment_;
  std::shared_ptr<const std::vector<TimedPiece>> pieces_;
  PictureZoom zoom_;
  KeptPicture still_;  // the devices where they stay as they are
};

}  // namespace shardscope
