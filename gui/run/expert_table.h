#pragma once

#include <QTableWidget>

#include "gui/run/run_control.h"

namespace shardscope {

// What experts got in a recent step of the run: a row for each layer of experts, with a bar for each expert, a dashed
// line at the mean, the busiest over the mean, and the choices that found no room.
class ExpertTable : public QTableWidget {
  Q_OBJECT
 public:
  explicit ExpertTable(RunControl& run, QWidget* parent = nullptr);

 protected:
  void paintEvent(QPaintEvent* event) override;
  void showEvent(QShowEvent* event) override;

 private:
  void refresh();  // while it is seen

  RunControl& run_;
};

// Tokens of the expert whose bar is at `x` of `width`, for a tool tip; empty where there is none.
QString expert_tip(const ExpertLoad& load, double x, double width);

}  // namespace shardscope
