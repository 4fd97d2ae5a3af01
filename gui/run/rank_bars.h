#pragma once

#include "gui/document/selection.h"
#include "gui/look/tip_widget.h"
#include "gui/run/run_control.h"

namespace shardscope {

// What each rank did with the newest step's time: work and waiting by phase, as stacked bars, with its state, its bytes
// and its process.
class RankBars : public TipWidget {
  Q_OBJECT
 public:
  RankBars(RunControl& run, Selection& selection, QWidget* parent = nullptr);
  QSize sizeHint() const override;

 protected:
  void paintEvent(QPaintEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  QString tip_at(const QPointF& point) override;

 private:
  int rows() const;
  std::optional<int> rank_under(const QPointF& point) const;

  RunControl& run_;
  Selection& selection_;
};

}  // namespace shardscope
