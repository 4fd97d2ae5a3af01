#pragma once

#include <QTabWidget>
#include <QWidget>

#include "gui/compare/compare_page.h"
#include "gui/pages/flow_page.h"
#include "gui/pages/memory_page.h"
#include "gui/pages/mode_comparison.h"
#include "gui/pages/timeline_page.h"
#include "gui/search/search_page.h"
#include "gui/window/problem_strip.h"
#include "gui/workspace/workspace.h"

namespace shardscope {

// The middle of the window: the pages, and at their foot the first problem while the plan has any.
class Centre : public QWidget {
  Q_OBJECT
 public:
  explicit Centre(Workspace& workspace, QWidget* parent = nullptr);

  QTabWidget* pages() const { return pages_; }
  // Problems are fixed by the sizes that are legal.
  void show_problems(LegalSizes& sizes);
  ProblemStrip* problems() const { return strip_; }
  ComparePage* compare() const { return compare_; }
  SearchPage* search() const { return search_; }
  // By its title, "layout" or "compare"; false for another name.
  bool show_page(const QString& name);
  // "there is no page 'memry' (did you mean 'memory'?)"; `more`: what the caller takes besides.
  QString no_page(const QString& name, const std::vector<std::string>& more = {}) const;
  // Puts actions into the context menu of each page that has none of its own.
  void offer(const QList<QAction*>& actions);
  // Shows on the page Layout who sends what in the selected step; false where it sends nothing.
  bool replay_selected();
  // No page waits for a plan of its own, for what it shows of the plan, or to be painted.
  bool is_settled() const;

 signals:
  void problemsWanted();

 protected:
  void resizeEvent(QResizeEvent* event) override;

 private:
  void add_page(QWidget* page, const QString& title, const QString& tip);
  void paint_later();

  Workspace& workspace_;
  QTabWidget* pages_;
  ProblemStrip* strip_ = nullptr;
  FlowPage* flow_;
  MemoryPage* memory_;
  ModeComparison* comparison_;
  TimelinePage* timeline_;
  ComparePage* compare_;
  SearchPage* search_;
  bool paints_later_ = false;
};

}  // namespace shardscope
