#include "gui/run/run_curve.h"

#include <QChart>
#include <QLegend>
#include <QLegendMarker>
#include <QWheelEvent>
#include <algorithm>
#include <cmath>

#include "gui/look/appearance.h"
#include "gui/run/chart_look.h"
#include "viz/paint/ticks.h"

namespace shardscope {
namespace {

constexpr size_t dotted_points = 40;
constexpr int tall_curve = 170, few_marks = 4, many_marks = 6;

Qt::PenStyle pen_style(int curve) {
  constexpr std::array styles = {Qt::SolidLine, Qt::DotLine, Qt::DashDotLine};  // dashed is what was predicted
  return styles[std::min<size_t>(static_cast<size_t>(curve) / curve_color_count, styles.size() - 1)];
}

}  // namespace

RunCurve::RunCurve(const QString& name, QWidget* parent)
    : QChartView(parent), expected_(new QLineSeries), x_(new QValueAxis), y_(new QValueAxis) {
  setObjectName(name);
  chart()->addAxis(x_, Qt::AlignBottom);
  chart()->addAxis(y_, Qt::AlignLeft);
  add(expected_);
  prepare_chart(*this);
  x_->setLabelFormat("%d");
  x_->setTickType(QValueAxis::TicksDynamic);
  x_->setTickAnchor(0);
  set_curve_count(1);
}

void RunCurve::add(QXYSeries* series) {
  chart()->addSeries(series);
  series->attachAxis(x_);
  series->attachAxis(y_);
}

void RunCurve::set_curve_count(size_t count) {
  for (; curves_.size() > count; curves_.pop_back()) {
    for (QXYSeries* series : std::initializer_list<QXYSeries*>{curves_.back().line, curves_.back().dots}) {
      chart()->removeSeries(series);
      delete series;
    }
  }
  while (curves_.size() < count) {
    const Curve curve = curves_.emplace_back(Curve{new QLineSeries, new QScatterSeries});
    curve.dots->setMarkerSize(5);
    add(curve.line);
    add(curve.dots);
  }
  take_theme();
  show_legend();
}

void RunCurve::show_legend() {
  QLegend* legend = chart()->legend();
  legend->setVisible(curves_.size() > 1);
  for (QAbstractSeries* series : chart()->series()) {
    const bool named = std::ranges::any_of(curves_, [&](const Curve& curve) { return curve.line == series; });
    for (QLegendMarker* marker : legend->markers(series)) marker->setVisible(named);
  }
}

void RunCurve::take_theme() {
  show_theme(*this, {x_, y_});
  for (int i = 0; i < static_cast<int>(curves_.size()); ++i) {
    const QColor color = curve_color(i, theme());
    curves_[i].line->setPen(QPen(color, 2, pen_style(i)));
    curves_[i].dots->setColor(color);
    curves_[i].dots->setBorderColor(color);
  }
  expected_->setPen(QPen(theme().muted, 1.5, Qt::DashLine));
}

void RunCurve::wheelEvent(QWheelEvent* event) {
  if (!event->modifiers().testFlag(Qt::ControlModifier)) return event->ignore();
  const double about = chart()->mapToValue(event->position(), expected_).x();
  emit zoomed(std::pow(0.998, event->angleDelta().y()), about);
  event->accept();
}

void RunCurve::mouseDoubleClickEvent(QMouseEvent*) { emit wholeWanted(); }

void RunCurve::show_content(const Content& content) {
  chart()->setTitle(content.lines.size() > 1 ? QString() : content.title);
  if (curves_.size() != content.lines.size()) set_curve_count(content.lines.size());
  std::vector<double> heights;
  for (size_t i = 0; i < curves_.size(); ++i) {
    std::vector<CurvePoint> finite;
    for (const CurvePoint& point : content.lines[i].points)
      if (std::isfinite(point.y)) finite.push_back(point);
    QList<QPointF> drawn;
    for (const CurvePoint& point : decimate(finite, std::max(40, width()))) {
      drawn.append({point.x, point.y});
      heights.push_back(point.y);
    }
    curves_[i].line->setName(content.lines[i].label);
    curves_[i].line->replace(drawn);
    curves_[i].dots->replace(drawn.size() <= static_cast<qsizetype>(dotted_points) ? drawn : QList<QPointF>());
  }
  // The interval and the range change one after the other: never to a state of very many ticks in between.
  const double left = content.first_x, right = std::max(left + 1, content.last_x);
  const double interval = std::max(1.0, std::ceil((right - left) / 5));
  if (right > x_->max()) x_->setTickInterval(interval);
  x_->setRange(left, right);
  x_->setTickInterval(interval);
  const bool has_expected = content.expected && !heights.empty();
  expected_->setVisible(has_expected);
  if (has_expected) {
    expected_->replace({QPointF(left, *content.expected), QPointF(right, *content.expected)});
    heights.push_back(*content.expected);
  }
  if (heights.empty()) return;
  const auto [low, high] = std::ranges::minmax(heights);
  const Ticks ticks = round_ticks(low, high, height() < tall_curve ? few_marks : many_marks);
  y_->setTickCount(ticks.count);
  y_->setRange(ticks.first, ticks.last());
  y_->setLabelFormat(QString("%.%1f").arg(ticks.decimals) + (content.unit.isEmpty() ? "" : " " + content.unit));
}

}  // namespace shardscope
