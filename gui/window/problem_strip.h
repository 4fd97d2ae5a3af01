#pragma once

#include <QFrame>
#include <QHBoxLayout>
#include <QLabel>
#include <QToolButton>
#include <functional>
#include <vector>

#include "gui/planning/legal_sizes.h"
#include "gui/workspace/workspace.h"

namespace shardscope {

// The first problem of a run file that cannot be planned, at the foot of the pages, which it covers: nothing moves.
// Beside it the edits that fix it, as far as a size of the mesh, a degree of the strategy or a size of the machine does
// ("data = 4", "nodes = 16"), the nearest first and as many as there is room for, each one undoable step, and undo.
class ProblemStrip : public QFrame {
  Q_OBJECT
 public:
  ProblemStrip(Workspace& workspace, LegalSizes& sizes, QWidget* parent);

  // Along the foot of what it covers.
  void fit_to(const QSize& room);

 signals:
  void allWanted();

 protected:
  bool event(QEvent* event) override;

 private:
  void refresh();
  void offer(const QString& text, const QString& tip, std::function<void()> edit);
  void offer_fixes();
  QToolButton* add_button(const QString& text, const QString& tip);

  Workspace& workspace_;
  LegalSizes& sizes_;
  QLabel* text_;
  QHBoxLayout *fixes_, *buttons_;
  QBoxLayout* all_parts_;
  QToolButton *undo_, *all_;
  std::vector<QToolButton*> offered_;
};

}  // namespace shardscope
