#pragma once

#include <QTabWidget>
#include <QWidget>

#include "gui/compare/pinned_plans.h"
#include "gui/planning/legal_sizes.h"
#include "gui/window/problem_strip.h"
#include "gui/workspace/page.h"
#include "gui/workspace/workspace.h"

namespace shardscope {

// The middle of the window: the pages, and at their foot the first problem while the plan has any.
class Centre : public QWidget {
  Q_OBJECT
 public:
  explicit Centre(Workspace& workspace, QWidget* parent = nullptr);
  ~Centre() override;

  QTabWidget* pages() const { return pages_; }
  PinnedPlans& pins() { return pins_; }
  // The page of that class.
  template <class Widget>
  Widget* page() const {
    return pages_->findChild<Widget*>();
  }
  // By its name, "layout"; null for another one.
  Page* find_page(const QString& name) const;
  Page* current_page() const;
  // Problems are fixed by the sizes that are legal.
  void show_problems(LegalSizes& sizes);
  ProblemStrip* problems() const { return strip_; }
  // By its name, "layout" or "compare"; false for another one.
  bool show_page(const QString& name);
  // For a key or a menu: the keyboard goes there, too.
  void enter_page(const QString& name);
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
  int index_of(const QString& name) const;  // -1: there is none
  void paint_later();

  Workspace& workspace_;
  PinnedPlans pins_;
  QTabWidget* pages_;
  ProblemStrip* strip_ = nullptr;
  bool paints_later_ = false;
};

}  // namespace shardscope
