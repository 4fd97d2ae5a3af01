#include "gui/run/run_curve.h"

#include <QChart>
#include <QLegend>
#include <QLegendMarker>
#include <QMouseEvent>
#include <QWheelEvent>
#include <algorithm>
#include <cmath>

#include "gui/document/text.h"
#include "gui/look/appearance.h"
#include "gui/look/in_picture.h"
#include "gui/run/chart_look.h"
#include "viz/paint/ticks.h"

namespace shardscope {
namespace {

constexpr size_t dotted_points = 40;
constexpr double least_logarithmic = 1e-38;

Qt::PenStyle pen_style(int style) {
  constexpr std::array styles = {Qt::SolidLine, Qt::DotLine, Qt::DashDotLine};  // dashed is what was predicted
  return styles[std::min<size_t>(static_cast<size_t>(style), styles.size() - 1)];
}

}  // namespace

RunCurve::RunCurve(const QString& name, QWidget* parent)
    : QChartView(parent),
      expected_(new QLineSeries),
      x_(new QValueAxis),
      y_(new QValueAxis(this)),
      log_y_(new QCategoryAxis(this)),
      vertical_(y_) {
  setObjectName(name);
  viewport()->setMouseTracking(true);
  chart()->addAxis(x_, Qt::AlignBottom);
  chart()->addAxis(y_, Qt::AlignLeft);
  log_y_->setLabelsPosition(QCategoryAxis::AxisLabelsPositionOnValue);
  add(expected_);
  prepare_chart(*this);
  x_->setLabelFormat("%d");
  x_->setTickType(QValueAxis::TicksDynamic);
  x_->setTickAnchor(0);
  set_curve_count(1);
  take_theme();
}

void RunCurve::add(QXYSeries* series) {
  chart()->addSeries(series);
  series->attachAxis(x_);
  series->attachAxis(vertical_);
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
  show_theme(*this, {x_, y_, log_y_});
  for (size_t i = 0; i < std::min(curves_.size(), content_.lines.size()); ++i) {
    const QColor color = curve_color(content_.lines[i].color, theme());
    curves_[i].line->setPen(QPen(color, 2, pen_style(content_.lines[i].style)));
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

void RunCurve::mouseMoveEvent(QMouseEvent* event) {
  const QRectF area = chart()->plotArea();
  if (!area.contains(event->position())) return emit pointed(std::nullopt);
  emit pointed(chart()->mapToValue(event->position(), expected_).x());
}

void RunCurve::leaveEvent(QEvent*) { emit pointed(std::nullopt); }

void RunCurve::point_at(std::optional<double> step) {
  if (pointed_ == step) return;
  pointed_ = step;
  viewport()->update();
}

QStringList RunCurve::readout() const {
  QStringList lines;
  if (!pointed_) return lines;
  for (const Line& line : content_.lines) {
    const CurvePoint* point = nearest_point(line.points, *pointed_);
    if (!point) continue;
    if (lines.isEmpty()) lines << tr("step %1").arg(qint64(point->x));
    const QString value = content_.text ? content_.text(point->y) : QString::number(point->y, 'g', 5);
    const QString name = line.name.isEmpty() ? line.label : line.name;
    lines << (name.isEmpty() ? value : name + "  " + value);
  }
  return lines;
}

QPointF RunCurve::position_of(const CurvePoint& point) const {
  return chart()->mapToPosition({point.x, drawn(point.y)}, expected_);
}

void RunCurve::drawForeground(QPainter* painter, const QRectF&) {
  const QStringList lines = readout();
  if (lines.isEmpty()) return;
  const QRectF area = chart()->plotArea();
  painter->setFont(small_font());
  double x = area.left(), wide = 0;
  for (const Line& line : content_.lines) {
    const CurvePoint* point = nearest_point(line.points, *pointed_);
    if (!point) continue;
    const QPointF at = position_of(*point);
    x = std::clamp(at.x(), area.left(), area.right());
    painter->setPen(QPen(theme().base, 1));
    painter->setBrush(curve_color(line.color, theme()));
    if (area.contains(at)) painter->drawEllipse(at, 4, 4);
  }
  painter->setPen(QPen(theme().muted, 1, Qt::DotLine));
  painter->drawLine(QPointF(x, area.top()), QPointF(x, area.bottom()));
  const QFontMetricsF metrics = painter->fontMetrics();
  for (const QString& line : lines) wide = std::max(wide, metrics.horizontalAdvance(line));
  const double high = metrics.lineSpacing() * double(lines.size()) + 6;
  const bool is_left = x > area.center().x();
  const QRectF box(is_left ? x - wide - 18 : x + 8, area.top() + 2, wide + 10, high);
  QColor ground = theme().raised;
  ground.setAlphaF(0.92F);
  painter->setPen(QPen(theme().line, 1));
  painter->setBrush(ground);
  painter->drawRect(box);
  painter->setPen(theme().text);
  painter->drawText(box.adjusted(5, 3, -5, -3), Qt::AlignLeft | Qt::AlignTop, lines.join('\n'));
}

double RunCurve::drawn(double y) const { return content_.is_logarithmic ? std::log10(y) : y; }

void RunCurve::set_vertical_axis(QAbstractAxis* axis) {
  if (vertical_ == axis) return;
  for (QAbstractSeries* series : chart()->series()) series->detachAxis(vertical_);
  chart()->removeAxis(vertical_);
  vertical_->setParent(this);
  vertical_ = axis;
  chart()->addAxis(vertical_, Qt::AlignLeft);
  for (QAbstractSeries* series : chart()->series()) series->attachAxis(vertical_);
  take_theme();
}

// What is not drawn (is_drawn()) is left out, as is what is not above the least number of a logarithmic axis.
void RunCurve::show_content(Content content) {
  const auto looks = [this] {
    std::vector<std::pair<int, int>> list;
    for (const Line& line : content_.lines) list.emplace_back(line.color, line.style);
    return list;
  };
  const std::vector<std::pair<int, int>> before = looks();
  content_ = std::move(content);
  chart()->setTitle(content_.lines.size() > 1 ? QString() : content_.title);
  if (is_in_picture(*this)) setMinimumWidth(least_width());
  if (curves_.size() != content_.lines.size()) set_curve_count(content_.lines.size());
  set_vertical_axis(content_.is_logarithmic ? static_cast<QAbstractAxis*>(log_y_) : y_);
  std::vector<double> heights;
  for (size_t i = 0; i < curves_.size(); ++i) {
    std::vector<CurvePoint>& points = content_.lines[i].points;
    std::erase_if(points, [&](const CurvePoint& point) {
      return !is_drawn(point.y) || (content_.is_logarithmic && point.y < least_logarithmic);
    });
    const std::vector<CurvePoint> smooth = smoothed(points, content_.smoothing);
    const bool leaves_first = content_.without_first_outlier && first_flattens(smooth);
    QList<QPointF> seen;
    for (const CurvePoint& point : decimate(smooth, std::max(40, width()))) {
      seen.append({point.x, drawn(point.y)});
      if (!leaves_first || seen.size() > 1) heights.push_back(point.y);
    }
    curves_[i].line->setName(content_.lines[i].label);
    curves_[i].line->replace(seen);
    curves_[i].dots->replace(seen.size() <= static_cast<qsizetype>(dotted_points) ? seen : QList<QPointF>());
  }
  if (looks() != before) take_theme();
  // The interval and the range change one after the other: never to a state of very many ticks in between.
  const double left = content_.first_x, right = std::max(left + 1, content_.last_x);
  const double interval = std::max(1.0, std::ceil((right - left) / 5));
  if (right > x_->max()) x_->setTickInterval(interval);
  x_->setRange(left, right);
  x_->setTickInterval(interval);
  const bool has_expected = content_.expected && !heights.empty() && is_drawn(*content_.expected) &&
                            (!content_.is_logarithmic || *content_.expected >= least_logarithmic);
  expected_->setVisible(has_expected);
  if (has_expected) {
    const double height = drawn(*content_.expected);
    expected_->replace({QPointF(left, height), QPointF(right, height)});
    heights.push_back(*content_.expected);
  }
  if (!heights.empty()) show_range(std::move(heights));
  viewport()->update();
}

// So that neither title nor legend is cut.
int RunCurve::least_width() const {
  constexpr int beside = 80, marker = 40;
  const QFontMetrics metrics(small_font());
  int legend = 0;
  if (content_.lines.size() > 1)
    for (const Line& line : content_.lines) legend += metrics.horizontalAdvance(line.label) + marker;
  return beside + std::max(legend, metrics.horizontalAdvance(chart()->title()));
}

void RunCurve::show_range(std::vector<double> heights) {
  const auto [low, high] = std::ranges::minmax(heights);
  const int most = most_marks(height());
  if (!content_.is_logarithmic) {
    const Ticks ticks = round_ticks(low, high, most);
    y_->setTickCount(ticks.count);
    y_->setRange(ticks.first, ticks.last());
    y_->setLabelFormat(qt(ticks.format()) + (content_.unit.isEmpty() ? "" : " " + content_.unit));
    return;
  }
  const double margin = std::pow(high / low, 0.05) * 1.01;
  for (const QString& label : log_y_->categoriesLabels()) log_y_->remove(label);
  log_y_->setRange(std::log10(low / margin), std::log10(high * margin));
  log_y_->setStartValue(std::log10(low / margin));
  for (const double mark : log_marks(low / margin, high * margin, most))
    log_y_->append(QString::number(mark, 'g', 4) + (content_.unit.isEmpty() ? "" : " " + content_.unit),
                   std::log10(mark));
}

}  // namespace shardscope
