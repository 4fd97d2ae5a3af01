#pragma once

#include <memory>
#include <optional>

#include "gui/background/background.h"
#include "gui/look/in_picture.h"
#include "gui/look/kept_picture.h"
#include "gui/look/time_canvas.h"
#include "gui/workspace/workspace.h"
#include "viz/paint/memory_curve.h"

namespace shardscope {

// What is in use through a step on the devices of a stage, by category, over the steps of its sequence as they run,
// microbatch by microbatch, as the plan's software stack holds it; beneath it what they are part of, above it the arena
// (of another stack what it holds with its allocator), and the limit of a device where it is near; the peak is marked.
// A click chooses a position, P goes back to the peak; else the keys of a TimeCanvas.
class MemoryCurveView : public TimeCanvas {
  Q_OBJECT
 public:
  explicit MemoryCurveView(Workspace& workspace, QWidget* parent = nullptr);
  QSize minimumSizeHint() const override { return is_in_picture(*this) ? QSize(400, 300) : QSize(240, 120); }
  QRectF body() const { return time_place(); }  // of the curve, in widget coordinates

  // Of the plan that is shown; null before the first.
  std::shared_ptr<const Plan> plan() const { return plan_; }
  int stage() const { return stage_; }
  const MemoryCurve& curve() const { return *curve_; }
  const ArenaLayout& arena() const { return arena_of(*curve_, *plan_, stage_); }
  // That the list of buffers is of: the chosen one, else the peak.
  int position() const { return chosen_.value_or(curve_->peak); }
  bool is_at_peak() const { return !chosen_; }
  bool is_settled() const { return !background_.is_busy(); }
  void show_peak();
  // "instruction 12, params/Embed_0/gather (forward of microbatch 1)"
  QString position_text(int position) const;

 signals:
  void changed();  // plan, stage or position

 protected:
  void paintEvent(QPaintEvent* event) override;
  void showEvent(QShowEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  QRectF time_place() const override;
  void click(const QPointF& point) override;
  QString tip_at(const QPointF& point) override;

 private:
  struct Made {
    std::shared_ptr<const Plan> plan;
    int stage = 0;
    std::shared_ptr<const MemoryCurve> curve;
  };

  void ask();
  void take(Made made);
  int position_under(double x) const;
  double highest() const;
  double y_of(double bytes) const;
  void paint_curve(QPainter& painter) const;
  void paint_axes(QPainter& painter) const;
  void paint_phases(QPainter& painter) const;
  void paint_marks(QPainter& painter) const;

  Workspace& workspace_;
  std::shared_ptr<const Plan> asked_;  // and of which stage
  int asked_stage_ = -1;
  std::shared_ptr<const Plan> plan_;
  int stage_ = 0;
  std::shared_ptr<const MemoryCurve> curve_;
  std::optional<int> chosen_;
  KeptPicture drawn_;  // the curve in the window drawn_begin_..drawn_end_
  double drawn_begin_ = 0, drawn_end_ = 0;
  Background<Made> background_;
};

}  // namespace shardscope
