#include "gui/compare/compare_page.h"

#include <QTabBar>

namespace shardscope {

ComparePage::ComparePage(Workspace& workspace, QWidget* parent) : SteadyTabs(parent), pins_(workspace) {
  setObjectName("compare");
  setDocumentMode(true);
  tabBar()->setExpanding(false);
  tabBar()->setAccessibleName(tr("What is compared"));
  setTabToolTip(addTab(new PinsTab(workspace, pins_), tr("Pinned plans")), tr("Plans that you keep, side by side."));
  sweep_ = new SweepTab(workspace);
  setTabToolTip(addTab(sweep_, tr("Meshes")), tr("All ways to lay the devices out over the axes."));
}

void ComparePage::sweep() {
  setCurrentWidget(sweep_);
  sweep_->start();
}

}  // namespace shardscope
