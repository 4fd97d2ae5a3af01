#pragma once

#include <QLineEdit>
#include <QPushButton>
#include <QSpinBox>
#include <QTableWidget>
#include <QTimer>
#include <vector>

#include "engine/checkpoint/checkpoint_folder.h"
#include "gui/run/run_control.h"

namespace shardscope {

// Where the run's checkpoints go and how often, and those that are there, newest first, each whole as far as its index
// and the length of its files tell, or with what is wrong. Training goes on from the selected one.
class CheckpointTab : public QWidget {
  Q_OBJECT
 public:
  explicit CheckpointTab(RunControl& run, QWidget* parent = nullptr);
  void set_folder(const QString& folder);

 signals:
  void resumeWanted(const QString& checkpoint);

 protected:
  void showEvent(QShowEvent* event) override;

 private:
  void choose_folder();
  void take_settings();
  void refresh();
  void show_row(int row, const FoundCheckpoint& checkpoint);
  void show_selected();
  QString selected() const;

  RunControl& run_;
  QLineEdit* folder_;
  QSpinBox *every_, *keep_, *restarts_;
  QTableWidget* table_;
  QPushButton* resume_;
  QTimer pause_;  // between looks at the folder while a run goes on
  std::vector<FoundCheckpoint> shown_;
};

}  // namespace shardscope
