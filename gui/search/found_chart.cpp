#include "gui/search/found_chart.h"

#include <QApplication>
#include <QChart>
#include <QLegend>
#include <QMouseEvent>
#include <QRegularExpression>
#include <QToolTip>
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <set>

#include "engine/base/units.h"
#include "gui/document/text.h"
#include "gui/look/appearance.h"
#include "gui/look/key_help.h"
#include "gui/run/chart_look.h"
#include "gui/search/found_model.h"
#include "viz/paint/ticks.h"

namespace shardscope {
namespace {

constexpr int refresh_after_ms = 200;
constexpr double near_pixels = 10;
constexpr int legend_from_height = 190;
constexpr int legend_side = 10;

// Degrees of one class are of one colour, or shape: 1, 2 and 3, 4 to 7, ...
int class_of(int64_t degree) { return std::bit_width(static_cast<uint64_t>(std::max<int64_t>(degree, 1))) - 1; }

QColor tensor_color(int of_class) {
  constexpr std::array hues = {255.0, 160.0, 60.0, 25.0, 330.0, 295.0, 205.0};
  const double hue = hues[static_cast<size_t>(of_class) % hues.size()];
  return theme().dark ? oklch(0.76, 0.13, hue) : oklch(0.56, 0.15, hue);
}

QScatterSeries::MarkerShape pipeline_shape(int of_class) {
  constexpr std::array shapes = {QScatterSeries::MarkerShapeCircle,   QScatterSeries::MarkerShapeRectangle,
                                 QScatterSeries::MarkerShapeTriangle, QScatterSeries::MarkerShapeRotatedRectangle,
                                 QScatterSeries::MarkerShapeStar,     QScatterSeries::MarkerShapePentagon};
  return shapes[std::min(static_cast<size_t>(of_class), shapes.size() - 1)];
}

void paint_mark(QPainter& painter, const QRectF& box, const QColor& color, int of_class) {
  const double radius = 4.5;
  const auto corners = [&](int count, double inner, double turned) {
    QPolygonF polygon;
    for (int i = 0; i < count; ++i) {
      const double angle = turned + 2 * M_PI * i / count, length = i % 2 == 1 ? inner : radius;
      polygon << box.center() + QPointF(length * std::sin(angle), -length * std::cos(angle));
    }
    return polygon;
  };
  painter.setPen(Qt::NoPen);
  painter.setBrush(color);
  switch (pipeline_shape(of_class)) {
    case QScatterSeries::MarkerShapeCircle: painter.drawEllipse(box.center(), radius, radius); break;
    case QScatterSeries::MarkerShapeRectangle: painter.drawPolygon(corners(4, radius, M_PI / 4)); break;
    case QScatterSeries::MarkerShapeTriangle: painter.drawPolygon(corners(3, radius, 0)); break;
    case QScatterSeries::MarkerShapeRotatedRectangle: painter.drawPolygon(corners(4, radius, 0)); break;
    case QScatterSeries::MarkerShapeStar: painter.drawPolygon(corners(10, radius / 2, 0)); break;
    default: painter.drawPolygon(corners(5, radius, 0));
  }
}

// "50.0 ms" as "50 ms".
QString mark_text(const std::string& text) {
  static const QRegularExpression zeros("(\\.\\d*?)0+(?= )");
  QString marked = qt(text);
  marked.replace(zeros, "\\1");
  return marked.replace(". ", " ");
}

void show_marks(QCategoryAxis& axis, double low, double high, int most, double unit, std::string (*text)(double)) {
  for (const QString& label : axis.categoriesLabels()) axis.remove(label);
  const double margin = std::max(0.04 * std::log10(high / low), 0.01);
  const double begin = std::log10(low) - margin, end = std::log10(high) + margin;
  axis.setStartValue(begin);
  for (const double mark : log_marks(std::pow(10, begin) / unit, std::pow(10, end) / unit, most))
    axis.append(mark_text(text(mark * unit)), std::log10(mark * unit));
  axis.setRange(begin, end);
}

}  // namespace

std::vector<int> thinned(const std::vector<QPointF>& points, const QRectF& area, int most,
                         const std::function<bool(int)>& keeps) {
  const int count = static_cast<int>(points.size()), side = static_cast<int>(std::sqrt(most));
  std::vector<int> shown;
  std::set<std::pair<int, int>> places;
  for (int i = 0; i < count; ++i) {
    const QPointF at = points[static_cast<size_t>(i)] - area.topLeft();
    const std::pair place(std::clamp(static_cast<int>(at.x() / area.width() * side), 0, side - 1),
                          std::clamp(static_cast<int>(at.y() / area.height() * side), 0, side - 1));
    if (count <= most || keeps(i) || places.insert(place).second) shown.push_back(i);
  }
  return shown;
}

FoundChart::FoundChart(const StrategySearch& search, QWidget* parent)
    : QChartView(parent),
      search_(search),
      x_(new QCategoryAxis(this)),
      y_(new QCategoryAxis(this)),
      front_(new QLineSeries),
      current_(new QScatterSeries) {
  setObjectName("searchChart");
  setAccessibleName(tr("Candidates: step time and memory"));
  setFocusPolicy(Qt::StrongFocus);
  viewport()->setMouseTracking(true);
  for (QCategoryAxis* axis : {x_, y_}) axis->setLabelsPosition(QCategoryAxis::AxisLabelsPositionOnValue);
  chart()->addAxis(x_, Qt::AlignBottom);
  chart()->addAxis(y_, Qt::AlignLeft);
  x_->setTitleText(tr("step time"));
  y_->setTitleText(tr("memory of a device"));
  add(front_);
  add(current_);
  current_->setMarkerSize(15);
  prepare_chart(*this);
  chart()->legend()->hide();
  viewport()->setAccessibleName(accessibleName());
  set_key_help(this, tr("Search, points"),
               {{tr("Left, Right"), tr("the next by step time")},
                {tr("Up, Down"), tr("the next by memory")},
                {tr("Enter"), tr("take the strategy")},
                {tr("P"), tr("pin its plan")}});
  later_.setSingleShot(true);
  later_.setInterval(refresh_after_ms);
  connect(&later_, &QTimer::timeout, this, &FoundChart::refresh);
  click_.setObjectName("click");
  click_.setSingleShot(true);
  connect(&click_, &QTimer::timeout, this, [this] {
    if (pressed_) emit pinWanted(*pressed_);
  });
  connect(&search, &StrategySearch::replaced, this, [this] {
    row_.reset();
    pressed_.reset();
    click_.stop();
    refresh();
  });
  connect(&search, &StrategySearch::advanced, this, [this](int first) {
    if (first < static_cast<int>(search_.found().size())) refresh_later();
  });
  connect(&search, &StrategySearch::ended, this, &FoundChart::refresh);
  connect(&look(), &Look::changed, this, &FoundChart::take_theme);
  take_theme();
}

QXYSeries* FoundChart::add(QXYSeries* series) {
  chart()->addSeries(series);
  series->attachAxis(x_);
  series->attachAxis(y_);
  return series;
}

QScatterSeries* FoundChart::points_of(Class of) {
  QScatterSeries*& series = points_[of];
  if (series) return series;
  series = new QScatterSeries;
  series->setMarkerSize(8);
  series->setMarkerShape(pipeline_shape(of.second));
  series->setColor(tensor_color(of.first));
  series->setBorderColor(theme().base);
  add(series);
  return series;
}

QPointF FoundChart::point(int row) const {
  const Found& found = search_.found()[static_cast<size_t>(row)];
  return {std::log10(std::max(found.seconds, 1e-12)), std::log10(std::max(found.memory_bytes, 1.0))};
}

void FoundChart::refresh_later() {
  if (!later_.isActive()) later_.start();
}

void FoundChart::refresh() {
  later_.stop();
  if (row_ && *row_ >= static_cast<int>(search_.found().size())) row_.reset();
  show_axes();
  show_points();
  show_legend();
  set_current(row_);
}

void FoundChart::show_axes() {
  const std::vector<Found>& found = search_.found();
  if (found.empty()) return;
  const auto [fast, slow] = std::ranges::minmax(found, {}, &Found::seconds);
  const auto [small, large] = std::ranges::minmax(found, {}, &Found::memory_bytes);
  const double high = std::max(large.memory_bytes, 1.0);
  show_marks(*x_, std::max(fast.seconds, 1e-12), std::max(slow.seconds, 1e-12), std::clamp(width() / 90, 3, 8), 1,
             seconds_text);
  show_marks(*y_, std::max(small.memory_bytes, 1.0), high, most_marks(height()), byte_unit(high).bytes, bytes_text);
}

void FoundChart::show_points() {
  std::vector<QPointF> all;
  for (int row = 0; row < static_cast<int>(search_.found().size()); ++row) all.push_back(point(row));
  const QRectF area(x_->min(), y_->min(), x_->max() - x_->min(), y_->max() - y_->min());
  shown_ = thinned(all, area, most_points, [this](int row) { return search_.is_on_front(row) || row == row_; });
  std::map<Class, QList<QPointF>> points;
  for (const int row : shown_) {
    const StrategyConfig& strategy = search_.found()[static_cast<size_t>(row)].candidate.strategy;
    points[{class_of(strategy.tensor), class_of(strategy.pipeline)}].append(point(row));
  }
  for (const auto& [of, list] : points) points_of(of);
  for (const auto& [of, series] : points_) series->replace(points[of]);
  QList<QPointF> front;
  for (const int row : search_.front()) {
    const QPointF at = point(row);
    if (!front.empty()) front.append({at.x(), front.back().y()});
    front.append(at);
  }
  front_->replace(front);
}

void FoundChart::show_legend() {
  std::map<int, std::set<int64_t>> tensor, pipeline;
  for (const Found& found : search_.found()) {
    const StrategyConfig& strategy = found.candidate.strategy;
    tensor[class_of(strategy.tensor)].insert(strategy.tensor);
    pipeline[class_of(strategy.pipeline)].insert(strategy.pipeline);
  }
  legend_.clear();
  if (!search_.front().empty())
    legend_.push_back({tr("front"), [](QPainter& painter, const QRectF& box) {
                         painter.setPen(QPen(theme().text, 1.5));
                         painter.drawLine(QPointF(box.left(), box.center().y()),
                                          QPointF(box.right(), box.center().y()));
                       }});
  const auto put = [&](const QString& what, const std::set<int64_t>& degrees, const QColor& color, int shape) {
    QStringList numbers;
    for (const int64_t degree : degrees) numbers << QString::number(degree);
    legend_.push_back({what.arg(numbers.join(", ")), [color, shape](QPainter& painter, const QRectF& box) {
                         paint_mark(painter, box, color, shape);
                       }});
  };
  for (const auto& [of, degrees] : tensor) put(tr("tensor %1"), degrees, tensor_color(of), 0);
  if (pipeline.size() > 1)
    for (const auto& [of, degrees] : pipeline) put(tr("pipeline %1"), degrees, theme().muted, of);
  if (height() < legend_from_height) legend_.clear();
  const double high = legend_height(legend_, QFontMetricsF(small_font()), width() - 2 * legend_side);
  chart()->setMargins({4, static_cast<int>(std::ceil(high)), 14, 0});
  viewport()->update();
}

void FoundChart::paintEvent(QPaintEvent* event) {
  QChartView::paintEvent(event);
  QPainter painter(viewport());
  painter.setRenderHint(QPainter::Antialiasing);
  painter.setFont(small_font());
  paint_legend(painter, QRectF(viewport()->rect()).adjusted(legend_side, 0, -legend_side, 0), legend_);
}

void FoundChart::take_theme() {
  show_theme(*this, {x_, y_});
  for (QCategoryAxis* axis : {x_, y_}) {
    axis->setTitleFont(small_font());
    axis->setTitleBrush(theme().muted);
  }
  for (const auto& [of, series] : points_) {
    series->setColor(tensor_color(of.first));
    series->setBorderColor(theme().base);
  }
  front_->setPen(QPen(theme().text, 1.5));
  current_->setColor(Qt::transparent);
  current_->setBrush(Qt::NoBrush);
  current_->setPen(QPen(theme().text, 2));
  show_legend();
}

void FoundChart::set_current(std::optional<int> row) {
  row_ = row;
  current_->replace(row ? QList<QPointF>{point(*row)} : QList<QPointF>());
}

QPointF FoundChart::place_of(int row) const { return chart()->mapToPosition(point(row), front_); }

std::optional<int> FoundChart::row_at(const QPointF& place) const {
  std::optional<int> nearest;
  double distance = near_pixels;
  for (const int row : shown_) {
    const QPointF apart = place_of(row) - place;
    const double away = std::hypot(apart.x(), apart.y());
    if (away > distance || (nearest && away == distance)) continue;
    nearest = row;
    distance = away;
  }
  return nearest;
}

void FoundChart::mouseMoveEvent(QMouseEvent* event) {
  const std::optional<int> row = row_at(event->position());
  emit pointed(row);
  if (row)
    QToolTip::showText(event->globalPosition().toPoint(), found_text(search_.found()[static_cast<size_t>(*row)], true),
                       viewport());
  else QToolTip::hideText();
}

void FoundChart::mousePressEvent(QMouseEvent* event) {
  if (event->button() != Qt::LeftButton) return QChartView::mousePressEvent(event);
  pressed_ = row_at(event->position());
  if (pressed_) emit chosen(*pressed_);
}

// A click pins when it is not the first of two.
void FoundChart::mouseReleaseEvent(QMouseEvent* event) {
  if (event->button() != Qt::LeftButton || !pressed_ || row_at(event->position()) != pressed_) return;
  click_.start(QApplication::doubleClickInterval());
}

void FoundChart::mouseDoubleClickEvent(QMouseEvent* event) {
  click_.stop();
  pressed_.reset();
  if (const std::optional<int> row = row_at(event->position())) emit takeWanted(*row);
}

void FoundChart::leaveEvent(QEvent*) { emit pointed(std::nullopt); }

void FoundChart::step(int by, double Found::*order) {
  if (shown_.empty()) return;
  std::vector<int> rows = shown_;
  std::ranges::stable_sort(rows, {}, [&](int row) { return search_.found()[static_cast<size_t>(row)].*order; });
  const auto at = row_ ? std::ranges::find(rows, *row_) : rows.end();
  const auto last = std::ssize(rows) - 1;
  const std::ptrdiff_t next = at == rows.end() ? 0 : std::clamp<std::ptrdiff_t>(at - rows.begin() + by, 0, last);
  emit chosen(rows[static_cast<size_t>(next)]);
}

void FoundChart::keyPressEvent(QKeyEvent* event) {
  switch (event->key()) {
    case Qt::Key_Left: return step(-1, &Found::seconds);
    case Qt::Key_Right: return step(1, &Found::seconds);
    case Qt::Key_Up: return step(1, &Found::memory_bytes);
    case Qt::Key_Down: return step(-1, &Found::memory_bytes);
    case Qt::Key_Return:
    case Qt::Key_Enter:
      if (row_) emit takeWanted(*row_);
      return;
    default: QChartView::keyPressEvent(event);
  }
}

void FoundChart::resizeEvent(QResizeEvent* event) {
  QChartView::resizeEvent(event);
  for (QCategoryAxis* axis : {x_, y_}) axis->setTitleVisible(height() >= legend_from_height);
  show_axes();
  show_legend();
}

}  // namespace shardscope
