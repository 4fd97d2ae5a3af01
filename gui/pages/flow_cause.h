#pragma once

#include <QLabel>
#include <QProgressBar>
#include <QPushButton>
#include <QTimer>
#include <QTreeWidget>
#include <QWidget>
#include <memory>

#include "gui/background/background.h"
#include "gui/workspace/reshard_edits.h"
#include "gui/workspace/workspace.h"

namespace shardscope {

// Why an array is moved, and on demand the changes of a single spec that make it needless, with what each costs, the
// shortest step first: candidates are planned in the background, can be cancelled, and the chosen one is applied as one
// edit. Hidden where no reshard is shown.
class FlowCause : public QWidget {
  Q_OBJECT
 public:
  explicit FlowCause(Workspace& workspace, QWidget* parent = nullptr);

  // One reshard of alike layers each, of a plan; nothing is shown where the planner has come to another one.
  void show_steps(const std::shared_ptr<const Plan>& plan, const std::vector<StepRef>& steps);
  bool is_searching() const { return background_.is_busy(); }
  const std::optional<EditSearch>& result() const { return result_; }

 private:
  void refresh();
  void start();
  void cancel();
  void take(EditSearch search);
  void apply();
  void show_result();

  Workspace& workspace_;
  std::vector<StepRef> steps_;
  std::shared_ptr<const Plan> plan_;  // that they are of
  std::optional<EditSearch> result_;
  std::shared_ptr<EditProgress> reported_;
  QLabel* title_;
  QLabel* cause_;
  QLabel* answer_;
  QTreeWidget* found_;
  QPushButton* search_;
  QPushButton* cancel_;
  QPushButton* apply_;
  QProgressBar* progress_;
  QTimer tick_;
  WorkerThreads thread_{
      1};  // of its own: no page waits for a search; at its end it waits for one planning to be given up
  Background<EditSearch> background_;
};

}  // namespace shardscope
