#pragma once

#include <QGridLayout>
#include <QWidget>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "gui/run/fit_chart.h"
#include "gui/run/run_control.h"
#include "gui/run/run_curve.h"
#include "gui/run/run_speed.h"

namespace shardscope {

// A run of the past that is laid over the one at hand.
struct PastRun {
  QString label;  // "12:04, 4x2"
  std::shared_ptr<const RunRecord> record;
  StepWork work;
  bool operator==(const PastRun&) const = default;
};

// The metrics of the run and its step time, live: a chart for each kind of metric (losses, accuracies, ...), one for
// the time and one for what is done a second, where what the plan predicts is a dashed line, and at the end the model's
// fit, where its data have one. A loss curve begins where the original's does (models/registry.h), once it gets so far.
// Each chart has a menu to save it. All show the same steps, zoomed together, and the values of one where the pointer
// is in any of them; of a span that is looked at closely the run is asked for every step. Runs of the past are laid
// over it: a colour a run then, and metrics distinguished by how they are dotted.
class RunCurves : public QWidget {
  Q_OBJECT
 public:
  explicit RunCurves(RunControl& run, QWidget* parent = nullptr);
  void take_theme();
  // "loss", "fit" or another kind of metric, "time", "speed"; null where this run has none.
  QChartView* chart(const std::string& kind);

  void set_past(std::vector<PastRun> runs);
  void set_logarithmic(bool logarithmic);
  void set_smoothing(double weight);  // of the metrics; 0 to 1

 protected:
  void paintEvent(QPaintEvent* event) override;
  void showEvent(QShowEvent* event) override;

 private:
  // Metrics of one kind.
  struct Group {
    std::string kind;
    std::vector<std::string> metrics;
    bool operator==(const Group&) const = default;
  };
  // The run at hand (the first), and those of the past.
  struct Shown {
    QString label;  // empty: the run at hand
    std::span<const StepMessage> steps;
    StepWork work;
  };
  struct Past {
    PastRun run;
    std::vector<StepMessage> steps;
  };

  void refresh();
  void redraw();  // as soon as it is seen
  void draw();
  std::vector<Group> groups_of(const std::vector<Shown>& runs) const;
  void set_groups(std::vector<Group> groups);
  void arrange();
  void show_group(const Group& group, const std::vector<Shown>& runs);
  void show_time(const std::vector<Shown>& runs);
  void show_speed(const std::vector<Shown>& runs);
  // Lines of one value of each step, a run each.
  template <class Value>
  void add_lines(RunCurve::Content& content, const std::vector<Shown>& runs, const Value& value) const;
  void point_at(std::optional<double> step);
  bool has_any() const;
  void zoom(double factor, double about);
  void show_all();
  void offer_zoom(RunCurve& chart);
  double last_done() const;  // of all runs that are shown
  double last_step() const;
  double first_step(const std::string& kind) const;

  RunControl& run_;
  QGridLayout* layout_;
  RunCurve *time_, *speed_;
  FitChart* fit_;
  std::vector<Group> groups_;
  std::map<std::string, RunCurve*> charts_;             // by kind
  std::optional<std::pair<double, double>> looked_at_;  // steps; all where none is set
  int64_t shown_ = 0;                                   // RunRecord::steps_reported
  std::vector<Past> past_;
  bool is_old_ = false;
  bool logarithmic_ = false;
  double smoothing_ = 0;
};

}  // namespace shardscope
