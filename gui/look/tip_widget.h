#pragma once

#include <QWidget>

namespace shardscope {

// A widget that says in a tool tip what is under the pointer.
class TipWidget : public QWidget {
 public:
  using QWidget::QWidget;

 protected:
  bool event(QEvent* event) override;
  virtual QString tip_at(const QPointF& point) = 0;  // empty: no tip
};

}  // namespace shardscope
