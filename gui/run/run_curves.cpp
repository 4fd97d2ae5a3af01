#include "gui/run/run_curves.h"

#include <QChart>
#include <QGraphicsLayout>
#include <QHBoxLayout>
#include <algorithm>
#include <cmath>

#include "gui/document/text.h"
#include "gui/look/appearance.h"
#include "gui/look/empty_state.h"
#include "viz/paint/ticks.h"
#include "viz/paint/units.h"

namespace shardscope {
namespace {

constexpr size_t dotted_points = 40;
constexpr int tall_curve = 170, few_marks = 4, many_marks = 6;

QString after(const QString& title, const QString& value) { return value.isEmpty() ? title : title + "  " + value; }

}  // namespace

RunCurve::RunCurve(const QString& name, QWidget* parent)
    : QChartView(parent),
      series_(new QLineSeries),
      expected_(new QLineSeries),
      dots_(new QScatterSeries),
      x_(new QValueAxis),
      y_(new QValueAxis) {
  setObjectName(name);
  chart()->addAxis(x_, Qt::AlignBottom);
  chart()->addAxis(y_, Qt::AlignLeft);
  for (QXYSeries* series : std::initializer_list<QXYSeries*>{expected_, series_, dots_}) {
    chart()->addSeries(series);
    series->attachAxis(x_);
    series->attachAxis(y_);
  }
  chart()->legend()->hide();
  chart()->setMargins({4, 0, 14, 0});
  chart()->layout()->setContentsMargins(0, 0, 0, 0);
  chart()->setBackgroundRoundness(0);
  x_->setLabelFormat("%d");
  x_->setTickType(QValueAxis::TicksDynamic);
  x_->setTickAnchor(0);
  dots_->setMarkerSize(5);
  setRenderHint(QPainter::Antialiasing);
  setFrameShape(QFrame::NoFrame);
  setMinimumSize(180, 96);
  take_theme();
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
  expected_->setPen(QPen(theme().muted, 1.5, Qt::DashLine));
  dots_->setColor(theme().accent);
  dots_->setBorderColor(theme().accent);
  setBackgroundBrush(theme().base);
}

void RunCurve::show_content(const Content& content) {
  chart()->setTitle(content.title);
  std::vector<CurvePoint> all;
  for (const CurvePoint& point : content.points)
    if (std::isfinite(point.y)) all.push_back(point);
  QList<QPointF> drawn;
  for (const CurvePoint& point : decimate(all, std::max(40, width()))) drawn.append({point.x, point.y});
  series_->replace(drawn);
  dots_->replace(drawn.size() <= static_cast<qsizetype>(dotted_points) ? drawn : QList<QPointF>());
  // The interval and the range change one after the other: never to a state of very many ticks in between.
  const double right = std::max(1.0, content.last_x), interval = std::max(1.0, std::ceil(right / 5));
  if (right > x_->max()) x_->setTickInterval(interval);
  x_->setRange(0, right);
  x_->setTickInterval(interval);
  const bool has_expected = content.expected && !all.empty();
  expected_->setVisible(has_expected);
  if (has_expected) expected_->replace({QPointF(0, *content.expected), QPointF(right, *content.expected)});
  if (all.empty()) return;
  const auto [low, high] = std::ranges::minmax(all, {}, &CurvePoint::y);
  const double line = has_expected ? *content.expected : low.y;
  const Ticks ticks =
      round_ticks(std::min(low.y, line), std::max(high.y, line), height() < tall_curve ? few_marks : many_marks);
  y_->setTickCount(ticks.count);
  y_->setRange(ticks.first, ticks.last());
  y_->setLabelFormat(QString("%.%1f").arg(ticks.decimals) + (content.unit.isEmpty() ? "" : " " + content.unit));
}

RunCurves::RunCurves(RunControl& run, QWidget* parent)
    : QWidget(parent),
      run_(run),
      loss_(new RunCurve("lossCurve", this)),
      accuracy_(new RunCurve("accuracyCurve", this)),
      time_(new RunCurve("timeCurve", this)) {
  loss_->setToolTip(tr("Mean cross-entropy over the batch before each step's update."));
  accuracy_->setToolTip(tr("Share of tokens whose most likely prediction is right."));
  time_->setToolTip(tr("Wall time of each step on the slowest rank. Dashed: what the plan predicts."));
  auto* layout = new QHBoxLayout(this);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->setSpacing(0);
  for (RunCurve* curve : {loss_, accuracy_, time_}) layout->addWidget(curve, 1);
  connect(&run, &RunControl::received, this, &RunCurves::refresh);
  refresh();
}

void RunCurves::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  painter.fillRect(rect(), theme().base);
  if (run_.record().steps.empty())
    paint_empty_state(painter, rect(), run_.is_active() ? tr("Waiting for the first step") : tr("No run yet"),
                      tr("Loss, accuracy and step time appear here while the ranks train."));
}

void RunCurves::take_theme() {
  for (RunCurve* curve : {loss_, accuracy_, time_}) curve->take_theme();
}

void RunCurves::refresh() {
  const std::vector<StepMessage>& steps = run_.record().steps;
  for (RunCurve* curve : {loss_, accuracy_, time_}) curve->setVisible(!steps.empty());
  update();
  if (steps.size() == shown_ && shown_ > 0) return;
  shown_ = steps.size();
  std::vector<CurvePoint> loss, accuracy, time;
  for (const StepMessage& step : steps) {
    const auto x = static_cast<double>(step.step);
    loss.push_back({x, step.loss});
    accuracy.push_back({x, step.accuracy * 100});
    time.push_back({x, step.step_ms / 1000});
  }
  const std::shared_ptr<const Plan>& plan = run_.plan();
  const double last = plan ? double(plan->config.steps - 1) : 1;
  const auto newest = [](const std::vector<CurvePoint>& points, int digits) {
    return points.empty() ? QString() : QString::number(points.back().y, 'f', digits);
  };
  loss_->show_content({after(tr("Loss"), newest(loss, 4)), {}, loss, {}, last});
  accuracy_->show_content({after(tr("Accuracy, %"), newest(accuracy, 2)), {}, accuracy, {}, last});

  RunCurve::Content content{tr("Step time"), tr("s"), time, {}, last};
  if (plan) content.expected = plan->totals.seconds_per_step;
  if (!time.empty()) {
    content.title = after(content.title, qt(seconds_text(time.back().y)));
    if (content.expected) content.title += tr(", predicted %1").arg(qt(seconds_text(*content.expected)));
    double longest = content.expected.value_or(0);
    for (const CurvePoint& point : time) longest = std::max(longest, point.y);
    if (longest < 1) {
      content.unit = tr("ms");
      for (CurvePoint& point : content.points) point.y *= 1000;
      if (content.expected) *content.expected *= 1000;
    }
  }
  time_->show_content(content);
}

}  // namespace shardscope
