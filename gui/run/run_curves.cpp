#include "gui/run/run_curves.h"

#include <algorithm>
#include <cmath>

#include "engine/base/units.h"
#include "gui/document/text.h"
#include "gui/look/appearance.h"
#include "gui/look/empty_state.h"
#include "gui/run/chart_picture.h"
#include "viz/text/metric_text.h"

namespace shardscope {
namespace {

constexpr int charts_in_a_row = 4;
constexpr double fewest_steps = 10;  // that are looked at

QString after(const QString& title, const QString& value) { return value.isEmpty() ? title : title + "  " + value; }

QString tip_of(const std::string& kind) {
  if (kind == "loss") return RunCurves::tr("Mean over the batch, before each step's update.");
  if (is_share(kind)) return RunCurves::tr("Share of predictions that are right.");
  if (kind == metric_kind(expert_imbalance_metric))
    return RunCurves::tr("Tokens of the busiest expert over the mean, of the layer that is least even: 1 is even.");
  if (kind == metric_kind(dropped_tokens_metric))
    return RunCurves::tr("Choices of experts that found no room within model.capacity_factor, of all layers.");
  return {};
}

}  // namespace

RunCurves::RunCurves(RunControl& run, QWidget* parent)
    : QWidget(parent),
      run_(run),
      layout_(new QGridLayout(this)),
      time_(new RunCurve("timeCurve", this)),
      speed_(new RunCurve("speedCurve", this)),
      fit_(new FitChart(this)) {
  for (QChartView* chart : std::initializer_list<QChartView*>{time_, speed_, fit_}) offer_picture(*chart);
  for (RunCurve* chart : {time_, speed_}) offer_zoom(*chart);
  time_->setToolTip(tr("Wall time of each step on the slowest rank. Dashed: what the plan predicts."));
  speed_->setToolTip(
      tr("What all ranks do a second, from the step's wall time, and which share that is of what their matrix units "
         "could do. Dashed: what the plan predicts."));
  layout_->setContentsMargins(0, 0, 0, 0);
  layout_->setSpacing(0);
  set_groups({});
  connect(&run, &RunControl::received, this, &RunCurves::refresh);
  refresh();
}

bool RunCurves::has_any() const { return run_.record().newest() || !past_.empty(); }

void RunCurves::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  painter.fillRect(rect(), theme().base);
  if (!has_any())
    paint_empty_state(painter, rect(), run_.is_active() ? tr("Waiting for the first step") : tr("No run yet"),
                      tr("Loss, other metrics and step time appear here while the ranks train."));
}

void RunCurves::take_theme() {
  time_->take_theme();
  speed_->take_theme();
  fit_->take_theme();
  for (const auto& [kind, chart] : charts_) chart->take_theme();
}

void RunCurves::set_past(std::vector<PastRun> runs) {
  if (std::ranges::equal(past_, runs, {}, &Past::run)) return;
  past_.clear();
  for (PastRun& run : runs) past_.push_back({run, run.record->steps()});
  redraw();
}

void RunCurves::set_logarithmic(bool logarithmic) {
  logarithmic_ = logarithmic;
  redraw();
}

void RunCurves::set_smoothing(double weight) {
  smoothing_ = weight;
  redraw();
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
  charts.push_back(speed_);
  if (!run_.fit().empty()) charts.push_back(fit_);
  const int count = static_cast<int>(charts.size());
  const int rows = (count + charts_in_a_row - 1) / charts_in_a_row, columns = (count + rows - 1) / rows;
  for (int i = 0; i < count; ++i) layout_->addWidget(charts[i], i / columns, i % columns);
  for (int i = 0; i < charts_in_a_row; ++i) layout_->setColumnStretch(i, i < columns ? 1 : 0);
}

std::vector<RunCurves::Group> RunCurves::groups_of(const std::vector<Shown>& runs) const {
  std::vector<Group> groups;
  for (const Shown& run : runs) {
    if (run.steps.empty()) continue;
    for (const MetricValue& metric : run.steps.back().metrics) {
      const std::string kind(metric_kind(metric.name));
      auto group = std::ranges::find(groups, kind, &Group::kind);
      if (group == groups.end()) group = groups.insert(group, {kind, {}});
      if (std::ranges::count(group->metrics, metric.name) == 0) group->metrics.push_back(metric.name);
    }
  }
  return groups;
}

void RunCurves::refresh() {
  const bool has_fit = !run_.fit().empty();
  if (has_fit == fit_->isHidden()) {
    fit_->setVisible(has_fit);
    arrange();
  }
  if (has_fit) fit_->show_fit(run_.fit());
  const int64_t reported = run_.record().steps_received();
  if (reported < shown_ || !run_.record().newest()) looked_at_.reset();  // another run
  if (reported == shown_ && shown_ > 0) return;
  shown_ = reported;
  redraw();
}

void RunCurves::showEvent(QShowEvent* event) {
  QWidget::showEvent(event);
  if (is_old_) draw();
}

void RunCurves::redraw() {
  is_old_ = true;
  if (isVisible()) draw();
}

void RunCurves::draw() {
  is_old_ = false;
  const std::vector<StepMessage> own = run_.record().steps();
  std::vector<Shown> runs{{{}, own, run_.stored().work}};
  for (const Past& past : past_) runs.push_back({past.run.label, past.steps, past.run.work});
  if (std::vector<Group> groups = groups_of(runs); has_any() && groups != groups_) set_groups(std::move(groups));
  time_->setVisible(has_any());
  const bool has_speed = std::ranges::any_of(runs, [](const Shown& run) { return run.work.items > 0; });
  speed_->setVisible(has_any() && has_speed);
  for (const auto& [kind, chart] : charts_) chart->setVisible(has_any());
  for (const Group& group : groups_) show_group(group, runs);
  show_time(runs);
  if (has_speed) show_speed(runs);
  update();
}

QChartView* RunCurves::chart(const std::string& kind) {
  if (is_old_) draw();
  if (kind == "time") return time_;
  if (kind == "speed") return speed_;
  if (kind == "fit") return run_.fit().empty() ? nullptr : fit_;
  const auto found = charts_.find(kind);
  return found == charts_.end() ? nullptr : found->second;
}

double RunCurves::first_step(const std::string& kind) const {
  if (looked_at_) return looked_at_->first;
  if (kind != "loss" || !run_.plan()) return 0;
  const int64_t first = run_.plan()->training.progress.loss_from;
  return run_.record().completed() > first + 1 ? double(first) : 0;
}

void RunCurves::offer_zoom(RunCurve& chart) {
  connect(&chart, &RunCurve::zoomed, this, &RunCurves::zoom);
  connect(&chart, &RunCurve::wholeWanted, this, &RunCurves::show_all);
  connect(&chart, &RunCurve::pointed, this, &RunCurves::point_at);
}

void RunCurves::point_at(std::optional<double> step) {
  for (RunCurve* chart : {time_, speed_}) chart->point_at(step);
  for (const auto& [kind, chart] : charts_) chart->point_at(step);
}

void RunCurves::zoom(double factor, double about) {
  const double whole = last_done();
  if (whole < fewest_steps) return;
  const auto [first, last] = looked_at_.value_or(std::pair(0.0, whole));
  const double span = std::clamp((last - first) * factor, fewest_steps, whole);
  const double begin = std::clamp(about - (about - first) * span / (last - first), 0.0, whole - span);
  looked_at_ = {std::floor(begin), std::ceil(begin + span)};
  if (span >= whole) return show_all();
  run_.look_at({int64_t(looked_at_->first), int64_t(looked_at_->second) + 1});
  redraw();
}

void RunCurves::show_all() {
  looked_at_.reset();
  redraw();
}

double RunCurves::last_done() const {
  double last = double(run_.record().completed() - 1);
  for (const Past& past : past_) last = std::max(last, double(past.run.record->completed() - 1));
  return last;
}

double RunCurves::last_step() const {
  if (looked_at_) return looked_at_->second;
  return std::max({1.0, last_done(), run_.plan() ? double(run_.plan()->training.steps - 1) : 0.0});
}

template <class Value>
void RunCurves::add_lines(RunCurve::Content& content, const std::vector<Shown>& runs, const Value& value) const {
  for (size_t run = 0; run < runs.size(); ++run) {
    RunCurve::Line line;
    line.label = line.name = runs[run].label;
    line.color = static_cast<int>(run);
    for (const StepMessage& step : runs[run].steps)
      if (double(step.step) >= content.first_x && double(step.step) <= content.last_x)
        line.points.push_back({double(step.step), value(runs[run], step)});
    if (run == 0 || !line.points.empty()) content.lines.push_back(std::move(line));
  }
}

void RunCurves::show_group(const Group& group, const std::vector<Shown>& runs) {
  RunCurve::Content content;
  content.last_x = last_step();
  content.first_x = first_step(group.kind);
  content.is_logarithmic = logarithmic_;
  content.smoothing = smoothing_;
  const double scale = is_share(group.kind) ? 100 : 1;
  content.text = [scale, name = group.metrics.front()](double value) { return qt(metric_text(name, value / scale)); };
  int number = 0;
  for (const std::string& metric : group.metrics) {
    for (size_t run = 0; run < runs.size(); ++run) {
      RunCurve::Line line;
      for (const StepMessage& step : runs[run].steps) {
        const auto found = std::ranges::find(step.metrics, metric, &MetricValue::name);
        if (found != step.metrics.end() && !is_absent(*found) && double(step.step) >= content.first_x &&
            double(step.step) <= content.last_x)
          line.points.push_back({double(step.step), found->value * scale});
      }
      if (run > 0 && line.points.empty()) continue;
      line.label = line.name = qt(metric_label(metric));
      if (run > 0) line.label = line.name = runs[run].label + ": " + line.name;
      if (!line.points.empty()) line.label = after(line.label, qt(metric_text(metric, line.points.back().y / scale)));
      if (run == 0) content.title = line.label;
      line.color = past_.empty() ? number % curve_color_count : static_cast<int>(run);
      line.style = past_.empty() ? number / curve_color_count : number;
      content.lines.push_back(std::move(line));
    }
    ++number;
  }
  charts_.at(group.kind)->show_content(std::move(content));
}

void RunCurves::show_time(const std::vector<Shown>& runs) {
  RunCurve::Content content;
  content.title = tr("Step time");
  content.unit = tr("s");
  content.last_x = last_step();
  content.first_x = looked_at_ ? looked_at_->first : 0;
  content.without_first_outlier = true;
  content.is_logarithmic = logarithmic_;
  add_lines(content, runs, [](const Shown&, const StepMessage& step) { return step.step_ms / 1000; });
  if (const std::shared_ptr<const Plan>& plan = run_.plan()) content.expected = plan->totals.seconds_per_step;
  double longest = content.expected.value_or(0), scale = 1;
  for (const RunCurve::Line& line : content.lines)
    for (const CurvePoint& point : line.points) longest = std::max(longest, point.y);
  if (!content.lines[0].points.empty())
    content.title = after(content.title, qt(seconds_text(content.lines[0].points.back().y)));
  if (content.lines.size() > 1) content.lines[0].label = content.title;
  if (content.expected) content.title += tr(", predicted %1").arg(qt(seconds_text(*content.expected)));
  if (longest > 0 && longest < 1) {
    content.unit = tr("ms");
    scale = 1000;
    for (RunCurve::Line& line : content.lines)
      for (CurvePoint& point : line.points) point.y *= scale;
    if (content.expected) *content.expected *= scale;
  }
  content.text = [scale](double value) { return qt(seconds_text(value / scale)); };
  time_->show_content(std::move(content));
}

void RunCurves::show_speed(const std::vector<Shown>& runs) {
  const StepWork work = std::ranges::find_if(runs, [](const Shown& run) { return run.work.items > 0; })->work;
  RunCurve::Content content;
  content.title = work.are_tokens ? tr("Tokens/s") : tr("Examples/s");
  content.last_x = last_step();
  content.first_x = looked_at_ ? looked_at_->first : 0;
  content.without_first_outlier = true;
  content.is_logarithmic = logarithmic_;
  add_lines(content, runs,
            [](const Shown& run, const StepMessage& step) { return run.work.per_second(step.step_ms / 1000); });
  if (run_.plan()) content.expected = work.per_second(run_.plan()->totals.seconds_per_step);
  content.text = [work](double value) {
    const double seconds = value > 0 ? work.items / value : 0;
    return tr("%1/s, %2 of peak").arg(qt(count_text(value)), qt(share_text(work.share_of_peak(seconds))));
  };
  const std::vector<CurvePoint>& own = content.lines[0].points;
  if (content.lines.size() > 1)
    content.lines[0].label = own.empty() ? content.title : after(content.title, qt(count_text(own.back().y)));
  if (!own.empty()) content.title = after(content.title, content.text(own.back().y).remove("/s"));
  speed_->show_content(std::move(content));
}

}  // namespace shardscope
