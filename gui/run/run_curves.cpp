#include "gui/run/run_curves.h"

#include <algorithm>
#include <cmath>

#include "engine/compile/compile.h"
#include "gui/document/text.h"
#include "gui/look/appearance.h"
#include "gui/look/empty_state.h"
#include "gui/run/chart_picture.h"
#include "viz/paint/units.h"
#include "viz/text/metric_text.h"

namespace shardscope {
namespace {

constexpr int charts_in_a_row = 4;
constexpr double fewest_steps = 10;  // that are looked at

QString after(const QString& title, const QString& value) { return value.isEmpty() ? title : title + "  " + value; }

QString tip_of(const std::string& kind) {
  if (kind == "loss") return RunCurves::tr("Mean over the batch, before each step's update.");
  if (is_share(kind)) return RunCurves::tr("Share of predictions that are right.");
  return {};
}

}  // namespace

RunCurves::RunCurves(RunControl& run, QWidget* parent)
    : QWidget(parent),
      run_(run),
      layout_(new QGridLayout(this)),
      time_(new RunCurve("timeCurve", this)),
      fit_(new FitChart(this)) {
  for (QChartView* chart : std::initializer_list<QChartView*>{time_, fit_}) offer_picture(*chart);
  offer_zoom(*time_);
  time_->setToolTip(tr("Wall time of each step on the slowest rank. Dashed: what the plan predicts."));
  layout_->setContentsMargins(0, 0, 0, 0);
  layout_->setSpacing(0);
  set_groups({});
  connect(&run, &RunControl::received, this, &RunCurves::refresh);
  refresh();
}

void RunCurves::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  painter.fillRect(rect(), theme().base);
  if (!run_.record().newest())
    paint_empty_state(painter, rect(), run_.is_active() ? tr("Waiting for the first step") : tr("No run yet"),
                      tr("Loss, other metrics and step time appear here while the ranks train."));
}

void RunCurves::take_theme() {
  time_->take_theme();
  fit_->take_theme();
  for (const auto& [kind, chart] : charts_) chart->take_theme();
}

void RunCurves::set_groups(std::vector<Group> groups) {
  groups_ = std::move(groups);
  std::map<std::string, RunCurve*> old = std::move(charts_);
  charts_.clear();
  for (const Group& group : groups_) {
    RunCurve*& chart = charts_[group.kind];
    if (const auto found = old.find(group.kind); found != old.end()) {
      chart = found->second;
      continue;
    }
    chart = new RunCurve(qt(group.kind) + "Curve", this);
    chart->setToolTip(tip_of(group.kind));
    offer_picture(*chart);
    offer_zoom(*chart);
  }
  for (const auto& [kind, chart] : old)
    if (!charts_.contains(kind)) delete chart;
  arrange();
}

void RunCurves::arrange() {
  std::vector<QWidget*> charts;
  for (const Group& group : groups_) charts.push_back(charts_.at(group.kind));
  charts.push_back(time_);
  if (!run_.fit().empty()) charts.push_back(fit_);
  const int count = static_cast<int>(charts.size());
  const int rows = (count + charts_in_a_row - 1) / charts_in_a_row, columns = (count + rows - 1) / rows;
  for (int i = 0; i < count; ++i) layout_->addWidget(charts[i], i / columns, i % columns);
  for (int i = 0; i < charts_in_a_row; ++i) layout_->setColumnStretch(i, i < columns ? 1 : 0);
}

void RunCurves::refresh() {
  const StepMessage* newest = run_.record().newest();
  if (newest) {
    std::vector<Group> groups;
    for (size_t i = 0; i < newest->metrics.size(); ++i) {
      const std::string kind(metric_kind(newest->metrics[i].name));
      auto group = std::ranges::find(groups, kind, &Group::kind);
      if (group == groups.end()) group = groups.insert(group, {kind, {}});
      group->metrics.push_back(i);
    }
    if (groups != groups_) set_groups(std::move(groups));
  }
  time_->setVisible(newest);
  for (const auto& [kind, chart] : charts_) chart->setVisible(newest);
  const bool has_fit = !run_.fit().empty();
  if (has_fit == fit_->isHidden()) {
    fit_->setVisible(has_fit);
    arrange();
  }
  if (has_fit) fit_->show_fit(run_.fit());
  update();
  const int64_t told = run_.record().steps_told();
  if (told < shown_ || !newest) looked_at_.reset();  // another run
  if (told == shown_ && shown_ > 0) return;
  shown_ = told;
  const std::vector<StepMessage> steps = run_.record().steps();
  for (const Group& group : groups_) show_group(group, steps);
  show_time(steps);
}

QChartView* RunCurves::chart(const std::string& kind) const {
  if (kind == "time") return time_;
  if (kind == "fit") return run_.fit().empty() ? nullptr : fit_;
  const auto found = charts_.find(kind);
  return found == charts_.end() ? nullptr : found->second;
}

double RunCurves::first_step(const std::string& kind) const {
  if (looked_at_) return looked_at_->first;
  if (kind != "loss" || !run_.plan()) return 0;
  const int64_t first = progress_lines(run_.plan()->config).loss_from;
  return run_.record().newest()->step > first ? double(first) : 0;
}

void RunCurves::offer_zoom(RunCurve& chart) {
  connect(&chart, &RunCurve::zoomed, this, &RunCurves::zoom);
  connect(&chart, &RunCurve::wholeWanted, this, &RunCurves::show_all);
}

void RunCurves::zoom(double factor, double about) {
  const double whole = double(run_.record().completed() - 1);
  if (whole < fewest_steps) return;
  const auto [first, last] = looked_at_.value_or(std::pair(0.0, whole));
  const double span = std::clamp((last - first) * factor, fewest_steps, whole);
  const double begin = std::clamp(about - (about - first) * span / (last - first), 0.0, whole - span);
  looked_at_ = {std::floor(begin), std::ceil(begin + span)};
  if (span >= whole) return show_all();
  run_.look_at({int64_t(looked_at_->first), int64_t(looked_at_->second) + 1});
  shown_ = -1;
  refresh();
}

void RunCurves::show_all() {
  looked_at_.reset();
  shown_ = -1;
  refresh();
}

double RunCurves::last_step() const {
  if (looked_at_) return looked_at_->second;
  const std::shared_ptr<const Plan>& plan = run_.plan();
  return plan ? double(plan->config.steps - 1) : 1;
}

void RunCurves::show_group(const Group& group, const std::vector<StepMessage>& steps) {
  RunCurve::Content content{{}, {}, {}, {}, last_step()};
  if (!steps.empty()) content.first_x = first_step(group.kind);
  const double scale = is_share(group.kind) ? 100 : 1;
  for (size_t metric : group.metrics) {
    RunCurve::Line line;
    for (const StepMessage& step : steps)
      if (metric < step.metrics.size() && double(step.step) >= content.first_x && double(step.step) <= content.last_x &&
          !is_absent(step.metrics[metric]))
        line.points.push_back({double(step.step), step.metrics[metric].value * scale});
    if (!steps.empty()) line.label = qt(metric_label(steps.back().metrics[metric].name));
    if (!line.points.empty()) {
      const std::string& name = steps.back().metrics[metric].name;
      content.title = line.label = after(qt(metric_label(name)), qt(metric_text(name, line.points.back().y / scale)));
    }
    content.lines.push_back(std::move(line));
  }
  charts_.at(group.kind)->show_content(content);
}

void RunCurves::show_time(const std::vector<StepMessage>& steps) {
  std::vector<CurvePoint> time;
  RunCurve::Content content{tr("Step time"), tr("s"), {}, {}, last_step(), looked_at_ ? looked_at_->first : 0};
  for (const StepMessage& step : steps)
    if (double(step.step) >= content.first_x && double(step.step) <= content.last_x)
      time.push_back({double(step.step), step.step_ms / 1000});
  if (const std::shared_ptr<const Plan>& plan = run_.plan()) content.expected = plan->totals.seconds_per_step;
  if (!time.empty()) {
    content.title = after(content.title, qt(seconds_text(time.back().y)));
    if (content.expected) content.title += tr(", predicted %1").arg(qt(seconds_text(*content.expected)));
    double longest = content.expected.value_or(0);
    for (const CurvePoint& point : time) longest = std::max(longest, point.y);
    if (longest < 1) {
      content.unit = tr("ms");
      for (CurvePoint& point : time) point.y *= 1000;
      if (content.expected) *content.expected *= 1000;
    }
  }
  content.lines.push_back({{}, std::move(time)});
  time_->show_content(content);
}

}  // namespace shardscope
