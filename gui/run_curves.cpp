#include "gui/run_curves.h"

#include <QChart>
#include <QGraphicsLayout>
#include <QHBoxLayout>
#include <algorithm>
#include <cmath>

#include "gui/appearance.h"
#include "gui/empty_state.h"
#include "viz/paint/curve.h"

namespace shardscope {
namespace {

constexpr size_t dotted_points = 40;

}  // namespace

RunCurve::RunCurve(const QString& title, int digits, QWidget* parent)
    : QChartView(parent),
      series_(new QLineSeries),
      dots_(new QScatterSeries),
      x_(new QValueAxis),
      y_(new QValueAxis),
      title_(title),
      digits_(digits) {
  chart()->addSeries(series_);
  chart()->addSeries(dots_);
  chart()->addAxis(x_, Qt::AlignBottom);
  chart()->addAxis(y_, Qt::AlignLeft);
  for (QXYSeries* series : {static_cast<QXYSeries*>(series_), static_cast<QXYSeries*>(dots_)}) {
    series->attachAxis(x_);
    series->attachAxis(y_);
  }
  chart()->legend()->hide();
  chart()->setMargins({4, 0, 8, 0});
  chart()->layout()->setContentsMargins(0, 0, 0, 0);
  chart()->setBackgroundRoundness(0);
  chart()->setTitle(title);
  x_->setLabelFormat("%d");
  x_->setTickType(QValueAxis::TicksDynamic);
  x_->setTickAnchor(0);
  y_->setLabelFormat("%.3g");
  y_->setTickCount(4);
  dots_->setMarkerSize(5);
  setRenderHint(QPainter::Antialiasing);
  setFrameShape(QFrame::NoFrame);
  setMinimumSize(180, 110);
  take_theme();
  show_points({}, 1);
}

void RunCurve::take_theme() {
  chart()->setBackgroundBrush(theme().base);
  chart()->setTitleBrush(theme().text);
  chart()->setTitleFont(small_font());
  for (QValueAxis* axis : {x_, y_}) {
    axis->setLabelsFont(small_font());
    axis->setLabelsBrush(theme().muted);
    axis->setGridLinePen(QPen(theme().line, 1));
    axis->setLinePen(QPen(theme().line, 1));
  }
  series_->setPen(QPen(theme().accent, 2));
  dots_->setColor(theme().accent);
  dots_->setBorderColor(theme().accent);
  setBackgroundBrush(theme().base);
}

void RunCurve::show_points(const std::vector<std::pair<double, double>>& points, double last_x) {
  std::vector<CurvePoint> all;
  for (const auto& [x, y] : points)
    if (std::isfinite(y)) all.push_back({x, y});
  QList<QPointF> drawn;
  for (const CurvePoint& point : decimate(all, std::max(40, width()))) drawn.append({point.x, point.y});
  series_->replace(drawn);
  dots_->replace(drawn.size() <= static_cast<qsizetype>(dotted_points) ? drawn : QList<QPointF>());
  // The interval and the range change one after the other: never to a state of very many ticks in between.
  const double right = std::max(1.0, last_x), interval = std::max(1.0, std::ceil(right / 5));
  if (right > x_->max()) x_->setTickInterval(interval);
  x_->setRange(0, right);
  x_->setTickInterval(interval);
  if (all.empty()) {
    y_->setRange(0, 1);
    chart()->setTitle(title_);
    return;
  }
  const auto [low, high] = std::ranges::minmax(all, {}, &CurvePoint::y);
  const double pad = std::max(1e-6, (high.y - low.y) * 0.08 + std::abs(high.y) * 0.002);
  y_->setRange(low.y >= 0 ? std::max(0.0, low.y - pad) : low.y - pad, high.y + pad);
  chart()->setTitle(QString("%1  %2").arg(title_).arg(all.back().y, 0, 'f', digits_));
}

RunCurves::RunCurves(Workspace& workspace, QWidget* parent)
    : QWidget(parent),
      workspace_(workspace),
      loss_(new RunCurve(tr("Loss"), 4, this)),
      accuracy_(new RunCurve(tr("Accuracy, %"), 3, this)),
      time_(new RunCurve(tr("Step time, ms"), 1, this)) {
  loss_->setToolTip(tr("Mean cross-entropy over the batch before each step's update."));
  accuracy_->setToolTip(tr("Share of tokens whose most likely prediction is right."));
  time_->setToolTip(tr("Wall time of each step on the slowest rank."));
  auto* layout = new QHBoxLayout(this);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->setSpacing(0);
  for (RunCurve* curve : {loss_, accuracy_, time_}) layout->addWidget(curve, 1);
  connect(&workspace.run, &RunControl::received, this, &RunCurves::refresh);
  refresh();
}

void RunCurves::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  painter.fillRect(rect(), theme().base);
  if (workspace_.run.record().steps.empty())
    paint_empty_state(painter, rect(), workspace_.run.is_active() ? tr("Waiting for the first step") : tr("No run yet"),
                      tr("Loss, accuracy and step time appear here while the ranks train."));
}

void RunCurves::take_theme() {
  for (RunCurve* curve : {loss_, accuracy_, time_}) curve->take_theme();
}

void RunCurves::refresh() {
  const std::vector<StepMessage>& steps = workspace_.run.record().steps;
  for (RunCurve* curve : {loss_, accuracy_, time_}) curve->setVisible(!steps.empty());
  update();
  if (steps.size() == shown_ && shown_ > 0) return;
  shown_ = steps.size();
  std::vector<std::pair<double, double>> loss, accuracy, time;
  for (const StepMessage& step : steps) {
    const auto x = static_cast<double>(step.step);
    loss.emplace_back(x, step.loss);
    accuracy.emplace_back(x, step.accuracy * 100);
    time.emplace_back(x, step.step_ms);
  }
  const double last = workspace_.run.plan() ? double(workspace_.run.plan()->config.steps - 1) : 1;
  loss_->show_points(loss, last);
  accuracy_->show_points(accuracy, last);
  time_->show_points(time, last);
}

}  // namespace shardscope
