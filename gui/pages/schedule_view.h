#pragma once

#include "gui/look/legend.h"
#include "gui/look/time_canvas.h"
#include "gui/pages/trace_box.h"
#include "gui/workspace/workspace.h"
#include "viz/paint/pipeline_geometry.h"

namespace shardscope {

// The schedule of a pipeline over one training step: a row a stage, a block for each task that it runs with its
// microbatch; beneath it the measured one where a run of this plan is known, of one device of each stage. A click
// selects the step with which the block begins.
class ScheduleView : public TimeCanvas {
  Q_OBJECT
 public:
  explicit ScheduleView(Workspace& workspace, QWidget* parent = nullptr);
  QSize sizeHint() const override { return {560, least_height()}; }
  QSize minimumSizeHint() const override;

  const PipelinePicture& predicted() const { return predicted_; }
  const std::optional<PipelinePicture>& measured() const { return measured_; }
  // Where the row of a stage is drawn, in widget coordinates.
  QRectF row_place(int stage, bool measured = false) const;

 protected:
  void paintEvent(QPaintEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;
  void showEvent(QShowEvent* event) override;
  QRectF time_place() const override { return row_place(0); }
  void click(const QPointF& point) override;
  QString tip_at(const QPointF& point) override;

 private:
  struct Hit {
    const PipelineRow* row = nullptr;
    TimelineBar bar;
    bool is_measured = false;
  };

  void take_plan();
  void take_measurements();
  void show_measured(std::shared_ptr<const TraceMessage> trace, int device);
  void place_choice();
  int after_choice() const;
  double foot_height() const;
  int least_height() const;
  double row_height() const;
  Hit hit(const QPointF& point) const;
  QColor color_of(const TaskRun& run) const;
  void paint_row(QPainter& painter, const PipelineRow& row, const QRectF& place) const;
  QString heading() const;
  QString measured_heading() const;
  void paint_headings(QPainter& painter) const;
  std::vector<LegendEntry> legend() const;
  void paint_foot(QPainter& painter) const;

  Workspace& workspace_;
  std::shared_ptr<const Plan> plan_;
  PipelinePicture predicted_;
  std::optional<PipelinePicture> measured_;
  std::shared_ptr<const TraceMessage> trace_;  // that is measured, and of which device
  int device_ = 0;
  TraceBox* choice_;
};

}  // namespace shardscope
