#pragma once

#include <QDockWidget>
#include <QMainWindow>
#include <QPointer>
#include <QTabBar>
#include <vector>

namespace shardscope {

// The docks below the pages, of which the tabs alone are seen while it is collapsed. It opens when one of them is
// chosen; a click on the tab that is shown opens and collapses it.
class BottomPanel : public QObject {
  Q_OBJECT
 public:
  BottomPanel(QMainWindow& window, std::vector<QDockWidget*> docks);

  bool is_collapsed() const { return collapsed_; }
  void set_collapsed(bool collapsed);
  // For a window that is shown, or has restored its docks: the tabs are there only then.
  void find_tabs();

 signals:
  void collapsedChanged(bool collapsed);

 private:
  QDockWidget* at(int tab) const;

  QMainWindow& window_;
  std::vector<QDockWidget*> docks_;
  QPointer<QTabBar> tabs_;
  int shown_ = -1;  // tab
  int height_ = 0;  // when it is open
  bool collapsed_ = false;
};

}  // namespace shardscope
