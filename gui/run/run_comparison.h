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
// `stages`: stage_quantities() of the plan.
std::vector<Comparison> compare(const Plan& plan, const std::vector<StageQuantities>& stages, const RunRecord& run);

// The plan's predictions beside what the ranks measured themselves, with the difference.
class RunComparison : public QTableWidget {
  Q_OBJECT
 public:
  RunComparison(RunControl& run, Planner& planner, QWidget* parent = nullptr);

 protected:
  void showEvent(QShowEvent* event) override;

 private:
  void refresh();  // while it is seen
  const std::vector<StageQuantities>& quantities_of(const std::shared_ptr<const Plan>& plan);

  RunControl& run_;
  Planner& planner_;
  std::shared_ptr<const Plan> other_plan_;  // that a run is of, while another one is shown
  std::vector<StageQuantities> quantities_;
};

}  // namespace shardscope
