#pragma once

#include <QChartView>
#include <QLineSeries>
#include <QScatterSeries>
#include <QValueAxis>
#include <QWidget>
#include <optional>
#include <vector>

#include "gui/run/run_control.h"
#include "viz/paint/curve.h"

namespace shardscope {

// A curve over training steps, redrawn from all its points with as many as there are pixels. Its axes have round marks.
class RunCurve : public QChartView {
  Q_OBJECT
 public:
  explicit RunCurve(const QString& name, QWidget* parent = nullptr);

  // What is drawn: points of ascending step; where `expected` is given, a dashed line at that height. `unit` stands
  // behind each mark of the vertical axis.
  struct Content {
    QString title;
    QString unit;
    std::vector<CurvePoint> points;
    std::optional<double> expected;
    double last_x = 1;
  };
  void show_content(const Content& content);
  void take_theme();

 private:
  QLineSeries* series_;
  QLineSeries* expected_;
  QScatterSeries* dots_;
  QValueAxis* x_;
  QValueAxis* y_;
};

// Loss, accuracy and step time of the run, live; the step time that the plan predicts is a dashed line.
class RunCurves : public QWidget {
  Q_OBJECT
 public:
  explicit RunCurves(RunControl& run, QWidget* parent = nullptr);
  void take_theme();

 protected:
  void paintEvent(QPaintEvent* event) override;

 private:
  void refresh();

  RunControl& run_;
  RunCurve* loss_;
  RunCurve* accuracy_;
  RunCurve* time_;
  size_t shown_ = 0;
};

}  // namespace shardscope
