#pragma once

#include <QTableWidget>

#include "gui/window/workspace.h"

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
  explicit RunComparison(Workspace& workspace, QWidget* parent = nullptr);

 private:
  void refresh();
  Workspace& workspace_;
};

}  // namespace shardscope
