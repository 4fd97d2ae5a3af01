#pragma once

#include <optional>

#include "gui/look/kept_picture.h"
#include "gui/look/pan_zoom_canvas.h"
#include "gui/pages/layout_words.h"
#include "gui/pages/layout_zoom.h"

namespace shardscope {

// The selected array drawn to scale with its shards, beside the mesh with its named axes. Hovering a shard or a device
// lights all devices that hold the same data, in both. Arrow keys move from device to device along the mesh axes, and
// where a picture is enlarged the chosen device stays in sight.
//
// The wheel zooms the picture under the cursor, dragging pans it, a double click shows all of it; + and - zoom the
// picture that was touched last, Ctrl and arrow keys pan it, 0 shows all of both.
class LayoutView : public PanZoomCanvas {
  Q_OBJECT
 public:
  explicit LayoutView(Workspace& workspace, QWidget* parent = nullptr);

  QSize minimumSizeHint() const override;
  // Where things are drawn, in widget coordinates; empty when nothing is.
  QRectF device_rect(int device);
  QRectF shard_rect(int device);
  // Where the pictures are seen.
  QRectF mesh_room() const { return mesh_room_; }
  QRectF array_room() const { return array_room_; }

  void show_all() override;

  // At which index to cut through each leading dimension; -1: not (see lay_out()).
  void set_pins(std::vector<int64_t> pins);

 protected:
  void paintEvent(QPaintEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;
  void zoom_about(double factor, const QPointF& point, Qt::KeyboardModifiers keys) override;
  void press(const QMouseEvent& event) override;
  void drag(const QPointF& by, const QPointF& to) override;
  void click(const QPointF& point) override;
  void double_click(const QPointF& point) override;
  void hover(const QPointF& point) override;
  void leaveEvent(QEvent* event) override;
  void showEvent(QShowEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  QString tip_at(const QPointF& point) override;

 private:
  enum class Part : uint8_t { mesh, array };

  void expect_change();
  void renew();
  void arrange();
  MeshPlace mesh_place() const;
  QRectF array_place() const;
  QRectF device_place(int device) const;
  QRectF shard_place(int device) const;
  std::optional<int> device_under(const QPointF& point) const;
  std::optional<Part> part_under(const QPointF& point) const;
  void zoom(Part part, double factor, const QPointF& about);
  void pan(Part part, const QPointF& by);
  void show_all(Part part);
  void choose_neighbour(const QPointF& way);
  void paint_pictures(QPainter& painter) const;
  void paint_marks(QPainter& painter);
  QFont title_font() const;
  void paint_heading(QPainter& painter) const;
  void paint_array_labels(QPainter& painter) const;
  double legend_room() const;

  Workspace& workspace_;
  std::shared_ptr<const LayoutScene> scene_;
  bool is_stale_ = true;  // laid out anew when it is looked at
  std::vector<int64_t> pins_;
  QRectF array_room_, mesh_room_;
  QRectF array_whole_;    // not enlarged
  MeshPlace mesh_whole_;  // likewise
  PictureZoom array_zoom_, mesh_zoom_;
  Part touched_ = Part::mesh;
  std::optional<Part> dragged_;
  KeptPicture pictures_;  // array and mesh without what is marked in them
};

}  // namespace shardscope
