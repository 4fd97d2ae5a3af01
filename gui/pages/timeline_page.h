#pragma once

#include "gui/look/time_canvas.h"
#include "gui/pages/stage_box.h"
#include "gui/pages/trace_box.h"
#include "gui/workspace/workspace.h"
#include "viz/paint/timeline_geometry.h"

namespace shardscope {

// One training step over time: the predicted lanes (local work, collectives), and beneath them the measured ones when a
// run of this plan is known: one training step of it as one rank did it (the selected device's), each plan step at the
// time when it was done. Which training step, is chosen: the nearest to the median, the slowest, the latest. Of a
// pipeline: those of one stage, which waits for others between its steps. A click selects the step.
class TimelinePage : public TimeCanvas {
  Q_OBJECT
 public:
  explicit TimelinePage(Workspace& workspace, QWidget* parent = nullptr);
  QSize minimumSizeHint() const override { return {280, 150}; }

 protected:
  void paintEvent(QPaintEvent* event) override;
  QRectF time_place() const override { return lane_place(0); }
  void click(const QPointF& point) override;
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
  void take_stage();
  void take_measurements();
  void place_choice();
  QRectF lane_place(size_t lane) const;
  Hit hit(const QPointF& point) const;
  void paint_lane(QPainter& painter, size_t lane) const;
  void paint_phases(QPainter& painter) const;

  Workspace& workspace_;
  std::shared_ptr<const Plan> plan_;
  std::vector<Lane> lanes_;
  std::vector<PhaseSpan> phases_;
  TraceBox* choice_;
  StageBox* stage_box_;
  int stage_ = -1;
  QString measured_of_;           // "step 12, rank 0"
  double predicted_seconds_ = 0;  // of a step
};

}  // namespace shardscope
