#pragma once

#include <QLabel>
#include <QTabWidget>
#include <QWidget>

#include "gui/pages/mode_comparison.h"
#include "gui/pages/timeline_page.h"
#include "gui/workspace/workspace.h"

namespace shardscope {

// The middle of the window: the pages, and above them the first problem while the plan has any.
class Centre : public QWidget {
  Q_OBJECT
 public:
  explicit Centre(Workspace& workspace, QWidget* parent = nullptr);

  QTabWidget* pages() const { return pages_; }
  // "layout", "flow", "memory", "collectives" or "timeline"; false for another name.
  bool show_page(const QString& name);
  // Puts actions into the context menu of each page that has none of its own.
  void offer(const QList<QAction*>& actions);
  // Shows on the page Layout who sends what in the selected step; false where it sends nothing.
  bool replay_selected();
  // No page waits for a plan of its own.
  bool is_settled() const { return !comparison_->is_busy() && !timeline_->is_busy(); }

 private:
  void add_page(QWidget* page, const QString& title, const QString& tip);
  void refresh_banner();

  Planner& planner_;
  QLabel* banner_;
  QTabWidget* pages_;
  ModeComparison* comparison_;
  TimelinePage* timeline_;
};

}  // namespace shardscope
