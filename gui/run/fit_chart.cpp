#include "gui/run/fit_chart.h"

#include <QChart>
#include <QLegend>
#include <algorithm>

#include "gui/document/text.h"
#include "gui/look/appearance.h"
#include "gui/run/chart_look.h"
#include "viz/paint/curve.h"
#include "viz/paint/ticks.h"

namespace shardscope {
namespace {

constexpr double margin = 0.02;  // so that dots at the ends are whole

}  // namespace

FitChart::FitChart(QWidget* parent)
    : QChartView(parent),
      data_(new QScatterSeries),
      prediction_(new QLineSeries),
      x_(new QValueAxis),
      y_(new QValueAxis) {
  setObjectName("fitChart");
  setToolTip(tr("Every example of the data, and what the trained model predicts of it."));
  chart()->addAxis(x_, Qt::AlignBottom);
  chart()->addAxis(y_, Qt::AlignLeft);
  for (QXYSeries* series : std::initializer_list<QXYSeries*>{data_, prediction_}) {
    chart()->addSeries(series);
    series->attachAxis(x_);
    series->attachAxis(y_);
  }
  x_->setTickType(QValueAxis::TicksDynamic);
  data_->setName(tr("Data: y over x"));
  data_->setMarkerSize(5);
  prediction_->setName(tr("Prediction"));
  prepare_chart(*this);
  hide();
  take_theme();
}

void FitChart::take_theme() {
  show_theme(*this, {x_, y_});
  data_->setColor(curve_color(0, theme()));
  data_->setBorderColor(curve_color(0, theme()));
  prediction_->setPen(QPen(theme().text, 2));
}

void FitChart::show_fit(const std::vector<FitPoint>& points) {
  QList<QPointF> data, line;
  std::vector<double> heights;
  for (const FitPoint& point : points) {
    if (!is_drawn(point.x) || !is_drawn(point.target) || !is_drawn(point.prediction)) continue;
    data.append({point.x, point.target});
    line.append({point.x, point.prediction});
    heights.insert(heights.end(), {point.target, point.prediction});
  }
  data_->replace(data);
  prediction_->replace(line);
  if (data.empty()) return;
  const auto [low, high] = std::ranges::minmax(heights);
  const double left = data.front().x(), right = data.back().x(), room = margin * (right - left);
  const int marks = most_marks(height());
  const Ticks across = round_ticks(left, right, marks), up = round_ticks(low, high, marks);
  x_->setTickAnchor(across.first);
  x_->setTickInterval(across.step);
  x_->setRange(left - room, right + room);
  x_->setLabelFormat(qt(across.format()));
  y_->setTickCount(up.count);
  y_->setRange(up.first, up.last());
  y_->setLabelFormat(qt(up.format()));
}

}  // namespace shardscope
