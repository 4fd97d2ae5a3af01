#pragma once

#include <QTableWidget>

#include "gui/planning/planner.h"
#include "gui/run/run_control.h"

namespace shardscope {

// One quantity that the plan predicts and the ranks measure.
struct Comparison {
  QString name, tip;
  double predicted = 0;
  double measured = 0;  // of the rank that differs most, or of the run
  std::string (*format)(double) = nullptr;
  bool is_measured = false;
};
std::vector<Comparison> compare(const Plan& plan, const RunRecord& run);

// The plan's predictions beside what the ranks measured themselves, with the difference.
class RunComparison : public QTableWidget {
  Q_OBJECT
 public:
  RunComparison(RunControl& run, Planner& planner, QWidget* parent = nullptr);

 protected:
  void showEvent(QShowEvent* event) override;

 private:
  void refresh();  // while it is seen
  RunControl& run_;
  Planner& planner_;
};

}  // namespace shardscope
