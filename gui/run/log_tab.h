#pragma once

#include <QComboBox>
#include <QPlainTextEdit>
#include <QWidget>
#include <set>

#include "gui/run/run_control.h"

namespace shardscope {

// What shardrun and the ranks print: all of it, or of one of them.
class LogTab : public QWidget {
  Q_OBJECT
 public:
  explicit LogTab(RunControl& run, QWidget* parent = nullptr);

 private:
  void refresh();
  void show_anew();
  void add_speaker(int rank);

  RunControl& run_;
  QComboBox* speaker_;
  QPlainTextEdit* text_;
  std::set<int> speakers_;
  int64_t shown_ = 0;  // lines that were looked at, of all that were reported
  bool goes_on_ = false;
};

}  // namespace shardscope
