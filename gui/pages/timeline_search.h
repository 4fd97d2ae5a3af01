#pragma once

#include <QLabel>
#include <QLineEdit>
#include <QToolButton>
#include <vector>

#include "gui/workspace/step_words.h"
#include "gui/workspace/workspace.h"

namespace shardscope {

// Finds steps on the time line by words. Enter goes to the next one in
// time, Shift+Enter to the one before; Escape ends the search.
class TimelineSearch : public QWidget {
  Q_OBJECT
 public:
  explicit TimelineSearch(QWidget* parent = nullptr);

  // Searches this plan anew; null: none.
  void show_plan(std::shared_ptr<const Plan> plan);
  void begin();
  // Positions in each stage's main sequence, ascending; empty while nothing is looked for.
  const std::vector<std::vector<int>>& found() const { return found_; }
  int count() const;
  // `current` of `count()`, from 0; -1: none yet.
  void show_current(int current);

 signals:
  void foundChanged();
  void nextWanted();
  void previousWanted();
  void ended();

 protected:
  void keyPressEvent(QKeyEvent* event) override;

 private:
  void search();

  QLineEdit* text_;
  QLabel* count_;
  std::shared_ptr<const Plan> plan_;
  StepWords words_;
  std::vector<std::vector<int>> found_;
};

}  // namespace shardscope
