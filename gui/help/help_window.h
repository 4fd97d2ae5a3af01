#pragma once

#include <QDialog>
#include <QLineEdit>
#include <QTreeWidget>

#include "gui/help/guide_view.h"

namespace shardscope {

// The documents that come with the program, offline: chapters at the left, the chosen one at the right. A line searches
// all of them; chapters that lack its text are hidden. It stays beside the window that it helps with.
class HelpWindow : public QDialog {
  Q_OBJECT
 public:
  explicit HelpWindow(QWidget* parent);

  void open_chapter(const QString& document, const QString& anchor);
  GuideView* view() const { return view_; }

 protected:
  void keyPressEvent(QKeyEvent* event) override;

 private:
  void fill();
  void choose(QTreeWidgetItem* item);
  void search(const QString& text);
  void go_back();

  QLineEdit* line_;
  QTreeWidget* chapters_;
  GuideView* view_;
  QList<const GuideChapter*> before_;  // what Alt+Left goes back to
};

}  // namespace shardscope
