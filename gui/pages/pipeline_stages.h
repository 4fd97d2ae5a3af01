#pragma once

#include <array>

#include "gui/look/tip_widget.h"
#include "gui/workspace/workspace.h"

namespace shardscope {

// The stages of a pipeline, one a row: layers, devices, the predicted time in which it works and waits as a bar,
// microbatches in flight, memory. A click selects the stage's first device.
class PipelineStages : public TipWidget {
  Q_OBJECT
 public:
  explicit PipelineStages(Workspace& workspace, QWidget* parent = nullptr);
  QSize sizeHint() const override;
  QSize minimumSizeHint() const override;

 protected:
  void paintEvent(QPaintEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  QString tip_at(const QPointF& point) override;

 private:
  std::optional<int> stage_under(const QPointF& point) const;
  // Of the columns of layers and devices: in a picture as much as their texts need.
  std::array<int, 2> column_widths() const;

  Workspace& workspace_;
};

}  // namespace shardscope
