#pragma once

#include <QCheckBox>
#include <QLabel>
#include <QPushButton>
#include <QSlider>
#include <QTabWidget>
#include <QWidget>

#include "gui/document/selection.h"
#include "gui/planning/planner.h"
#include "gui/run/history_tab.h"
#include "gui/run/run_curves.h"

namespace shardscope {

// The training run: its state, live curves, predictions beside measurements, each rank, and the log.
class RunPanel : public QWidget {
  Q_OBJECT
 public:
  RunPanel(RunControl& run, Planner& planner, Selection& selection, QWidget* parent = nullptr);
  QString state_text() const { return state_->text(); }
  RunCurves& curves() const { return *curves_; }
  // Whose history is shown, and where runs are kept from now on.
  void set_store(RunStore store);

 signals:
  void startWanted();
  void resumeWanted(const QString& checkpoint);
  void runFound();  // that goes on without a window

 private:
  void refresh();
  void attach(const StoredRun& run);
  QWidget* make_curve_controls();

  RunControl& run_;
  Planner& planner_;
  QLabel* state_;
  QLabel* stale_;
  QPushButton *again_, *attach_, *pause_;
  QTabWidget* tabs_;
  QWidget* comparison_ = nullptr;
  RunCurves* curves_;
  HistoryTab* history_;
  QWidget* scrolled_curves_ = nullptr;
  QCheckBox* scale_;
  QSlider* smoothing_;
  QLabel* rate_;
  bool has_run_ = false;
};

}  // namespace shardscope
