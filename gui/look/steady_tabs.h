#pragma once

#include <QTabWidget>

namespace shardscope {

// Tabs whose pages change often. QTabWidget paints all of itself whenever something in a page asks for another size (as
// each text of a label does); these do where the bar itself has become another.
class SteadyTabs : public QTabWidget {
  Q_OBJECT
 public:
  using QTabWidget::QTabWidget;

 protected:
  bool event(QEvent* event) override;

 private:
  QSize bar_;
};

}  // namespace shardscope
