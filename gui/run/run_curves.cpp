#include "gui/run/run_curves.h"

#include <algorithm>

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
  if (run_.record().steps.empty())
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
  const std::vector<StepMessage>& steps = run_.record().steps;
  if (!steps.empty()) {
    std::vector<Group> groups;
    for (size_t i = 0; i < steps.back().metrics.size(); ++i) {
      const std::string kind(metric_kind(steps.back().metrics[i].name));
      auto group = std::ranges::find(groups, kind, &Group::kind);
      if (group == groups.end()) group = groups.insert(group, {kind, {}});
      group->metrics.push_back(i);
    }
    if (groups != groups_) set_groups(std::move(groups));
  }
  time_->setVisible(!steps.empty());
  for (const auto& [kind, chart] : charts_) chart->setVisible(!steps.empty());
  const bool has_fit = !run_.fit().empty();
  if (has_fit == fit_->isHidden()) {
    fit_->setVisible(has_fit);
    arrange();
  }
  if (has_fit) fit_->show_fit(run_.fit());
  update();
  if (steps.size() == shown_ && shown_ > 0) return;
  shown_ = steps.size();
  for (const Group& group : groups_) show_group(group);
  show_time();
}

QChartView* RunCurves::chart(const std::string& kind) const {
  if (kind == "time") return time_;
  if (kind == "fit") return run_.fit().empty() ? nullptr : fit_;
  const auto found = charts_.find(kind);
  return found == charts_.end() ? nullptr : found->second;
}

double RunCurves::first_step(const std::string& kind) const {
  if (kind != "loss" || !run_.plan()) return 0;
  const int64_t first = progress_lines(run_.plan()->config).loss_from;
  return run_.record().steps.back().step > first ? double(first) : 0;
}

double RunCurves::last_step() const {
  const std::shared_ptr<const Plan>& plan = run_.plan();
  return plan ? double(plan->config.steps - 1) : 1;
}

void RunCurves::show_group(const Group& group) {
  const std::vector<StepMessage>& steps = run_.record().steps;
  RunCurve::Content content{{}, {}, {}, {}, last_step()};
  if (!steps.empty()) content.first_x = first_step(group.kind);
  const double scale = is_share(group.kind) ? 100 : 1;
  for (size_t metric : group.metrics) {
    RunCurve::Line line;
    for (const StepMessage& step : steps)
      if (metric < step.metrics.size() && double(step.step) >= content.first_x && !is_absent(step.metrics[metric]))
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

void RunCurves::show_time() {
  std::vector<CurvePoint> time;
  for (const StepMessage& step : run_.record().steps) time.push_back({double(step.step), step.step_ms / 1000});
  RunCurve::Content content{tr("Step time"), tr("s"), {}, {}, last_step()};
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
