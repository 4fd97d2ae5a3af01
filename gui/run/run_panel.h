#pragma once

#include <QLabel>
#include <QPlainTextEdit>
#include <QPushButton>
#include <QTabWidget>
#include <QWidget>

#include "gui/run/run_curves.h"

namespace shardscope {

// The training run: its state, live curves, predictions beside measurements, each rank, and the log.
class RunPanel : public QWidget {
  Q_OBJECT
 public:
  explicit RunPanel(Workspace& workspace, QWidget* parent = nullptr);
  void take_theme() { curves_->take_theme(); }
  QString state_text() const { return state_->text(); }

 signals:
  void startWanted();

 private:
  void refresh();
  void add_log();

  Workspace& workspace_;
  QLabel* state_;
  QLabel* stale_;
  QPushButton* again_;
  QTabWidget* tabs_;
  QWidget* comparison_ = nullptr;
  RunCurves* curves_;
  QWidget* scrolled_curves_ = nullptr;
  QPlainTextEdit* log_;
  size_t logged_ = 0;
  bool has_run_ = false;
};

}  // namespace shardscope
