#pragma once

#include <QChartView>
#include <QLineSeries>
#include <QScatterSeries>
#include <QValueAxis>
#include <vector>

#include "gui/run/fit_point.h"

namespace shardscope {

// The data as dots, and what the trained model predicts of them as a line.
class FitChart : public QChartView {
  Q_OBJECT
 public:
  explicit FitChart(QWidget* parent = nullptr);
  void show_fit(const std::vector<FitPoint>& points);  // by ascending x
  void take_theme();

 private:
  QScatterSeries* data_;
  QLineSeries* prediction_;
  QValueAxis* x_;
  QValueAxis* y_;
};

}  // namespace shardscope
