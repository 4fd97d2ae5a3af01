#pragma once

#include <QChartView>
#include <QLineSeries>
#include <QScatterSeries>
#include <QValueAxis>
#include <QWidget>
#include <vector>

#include "gui/workspace.h"

namespace shardscope {

// A curve over training steps, redrawn from all its points with as many as there are pixels.
class RunCurve : public QChartView {
  Q_OBJECT
 public:
  // `digits` after the point of the newest value, which the title shows.
  RunCurve(const QString& title, int digits, QWidget* parent = nullptr);
  void show_points(const std::vector<std::pair<double, double>>& points, double last_x);
  void take_theme();

 private:
  QLineSeries* series_;
  QScatterSeries* dots_;
  QValueAxis* x_;
  QValueAxis* y_;
  QString title_;
  int digits_;
};

// Loss, accuracy and step time of the run, live.
class RunCurves : public QWidget {
  Q_OBJECT
 public:
  explicit RunCurves(Workspace& workspace, QWidget* parent = nullptr);
  void take_theme();

 protected:
  void paintEvent(QPaintEvent* event) override;

 private:
  void refresh();

  Workspace& workspace_;
  RunCurve* loss_;
  RunCurve* accuracy_;
  RunCurve* time_;
  size_t shown_ = 0;
};

}  // namespace shardscope
