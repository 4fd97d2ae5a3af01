#pragma once

#include <QGridLayout>
#include <QWidget>
#include <map>
#include <string>
#include <vector>

#include "gui/run/run_control.h"
#include "gui/run/run_curve.h"

namespace shardscope {

// The metrics of the run and its step time, live: a chart for each kind of metric (losses, accuracies, ...), and one
// for the time, where what the plan predicts is a dashed line.
class RunCurves : public QWidget {
  Q_OBJECT
 public:
  explicit RunCurves(RunControl& run, QWidget* parent = nullptr);
  void take_theme();

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
  void show_group(const Group& group);
  void show_time();
  double last_step() const;

  RunControl& run_;
  QGridLayout* layout_;
  RunCurve* time_;
  std::vector<Group> groups_;
  std::map<std::string, RunCurve*> charts_;  // by kind
  size_t shown_ = 0;
};

}  // namespace shardscope
