#pragma once

#include <QComboBox>

#include "gui/look/tip_widget.h"
#include "gui/workspace/workspace.h"
#include "viz/paint/timeline_geometry.h"

namespace shardscope {

// One training step over time: the predicted lanes (local work, collectives), and beneath them the measured ones when a
// run of this plan is known: one training step of it as one rank did it (the selected device's), each plan step at the
// time when it was done. Which training step, is chosen: the nearest to the median, the slowest, the latest. The wheel
// zooms about the cursor, dragging and arrow keys pan, + and - zoom, Home or a double click shows all; a click selects
// the step.
class TimelinePage : public TipWidget {
  Q_OBJECT
 public:
  explicit TimelinePage(Workspace& workspace, QWidget* parent = nullptr);
  QSize minimumSizeHint() const override { return {280, 150}; }

 protected:
  void paintEvent(QPaintEvent* event) override;
  void wheelEvent(QWheelEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void mouseReleaseEvent(QMouseEvent* event) override;
  void mouseDoubleClickEvent(QMouseEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  QString tip_at(const QPointF& point) override;
  void showEvent(QShowEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;

 private:
  struct Lane {
    QString title;
    TimelineLane slices;
    bool measured = false;
  };
  struct Hit {
    const Lane* lane = nullptr;
    TimelineBar bar;
  };

  void take_plan();
  void take_measurements();
  void place_choice();
  void show_window(double begin, double end);
  void zoom(double factor, double about);
  double seconds_at(double x) const;
  QRectF lane_place(size_t lane) const;
  Hit hit(const QPointF& point) const;
  void paint_lane(QPainter& painter, size_t lane) const;
  void paint_ruler(QPainter& painter) const;
  void paint_phases(QPainter& painter) const;

  Workspace& workspace_;
  std::shared_ptr<const Plan> plan_;
  std::vector<Lane> lanes_;
  std::vector<PhaseSpan> phases_;
  QComboBox* choice_;
  QString measured_of_;           // "step 12, rank 0"
  double seconds_ = 0;            // of the longest lane
  double predicted_seconds_ = 0;  // of a step
  double begin_ = 0, end_ = 0;
  QPointF dragged_from_;
  double dragged_begin_ = 0, dragged_end_ = 0;
  bool dragging_ = false;
};

}  // namespace shardscope
