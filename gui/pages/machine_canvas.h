#pragma once

#include <QPainter>

#include "gui/look/tip_widget.h"
#include "gui/workspace/workspace.h"
#include "viz/paint/machine_geometry.h"

namespace shardscope {

// The machine that the plan is made for, levels in each other, devices in the colours of the mesh. The groups that the
// selected device is in, over the chosen axes, are framed. A click selects a device.
class MachineCanvas : public TipWidget {
  Q_OBJECT
 public:
  explicit MachineCanvas(Workspace& workspace, QWidget* parent = nullptr);
  QSize sizeHint() const override { return {560, 320}; }
  QSize minimumSizeHint() const override;

  void show_plan(std::shared_ptr<const Plan> plan);
  // Whose group is framed; empty: none.
  void show_group(const AxisList& axes);
  const MachinePicture& picture() const { return picture_; }

 protected:
  void paintEvent(QPaintEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void leaveEvent(QEvent* event) override;
  QString tip_at(const QPointF& point) override;

 private:
  void arrange();
  void find_members();
  std::optional<int> device_under(const QPointF& point) const;
  const MachinePicture::Box* box_under(const QPointF& point) const;
  void paint_box(QPainter& painter, const MachinePicture::Box& box) const;
  void paint_device(QPainter& painter, const MachinePicture::Cell& cell) const;

  Workspace& workspace_;
  std::shared_ptr<const Plan> plan_;
  MachinePicture picture_;
  AxisList axes_;
  std::vector<bool> is_member_;  // of the framed group, by device
};

}  // namespace shardscope
