#pragma once

#include <QGridLayout>
#include <QWidget>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gui/run/fit_chart.h"
#include "gui/run/run_control.h"
#include "gui/run/run_curve.h"

namespace shardscope {

// The metrics of the run and its step time, live: a chart for each kind of metric (losses, accuracies, ...), one for
// the time, where what the plan predicts is a dashed line, and at the end the model's fit, where its data have one. A
// loss curve begins where the original's does (models/registry.h), once it gets so far. Each chart has a menu to save
// it. All show the same steps, zoomed together; of a stretch that is looked at closely the run is asked for every step.
class RunCurves : public QWidget {
  Q_OBJECT
 public:
  explicit RunCurves(RunControl& run, QWidget* parent = nullptr);
  void take_theme();
  // "loss", "fit" or another kind of metric, "time"; null where this run has none.
  QChartView* chart(const std::string& kind) const;

 protected:
  void paintEvent(QPaintEvent* event) override;

 private:
  // Metrics of one kind, as positions in a step's list of them.
  struct Group {
    std::string kind;
    std::vector<size_t> metrics;
    bool operator==(const Group&) const = default;
  };

  void refresh();
  void set_groups(std::vector<Group> groups);
  void arrange();
  void show_group(const Group& group, const std::vector<StepMessage>& steps);
  void show_time(const std::vector<StepMessage>& steps);
  void zoom(double factor, double about);
  void show_all();
  void offer_zoom(RunCurve& chart);
  double last_step() const;
  double first_step(const std::string& kind) const;

  RunControl& run_;
  QGridLayout* layout_;
  RunCurve* time_;
  FitChart* fit_;
  std::vector<Group> groups_;
  std::map<std::string, RunCurve*> charts_;             // by kind
  std::optional<std::pair<double, double>> looked_at_;  // steps; all where none is set
  int64_t shown_ = 0;                                   // RunRecord::steps_told
};

}  // namespace shardscope
