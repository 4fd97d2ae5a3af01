#include "gui/compare/compare_page.h"

#include <QTabBar>

namespace shardscope {

ComparePage::ComparePage(Workspace& workspace, PinnedPlans& pins, QWidget* parent) : SteadyTabs(parent), pins_(pins) {
  setObjectName("compare");
  setDocumentMode(true);
  tabBar()->setExpanding(false);
  tabBar()->setAccessibleName(tr("What is compared"));
  setTabToolTip(addTab(new PinsTab(workspace, pins_), tr("Pinned plans")), tr("Plans that you keep, side by side."));
  changes_ = new ChangesTab(workspace, pins_);
  setTabToolTip(addTab(changes_, tr("Changes")), tr("What a pinned plan and the shown one differ in, by its effect."));
  sweep_ = new SweepTab(workspace);
  setTabToolTip(addTab(sweep_, tr("Meshes")), tr("All ways to lay the devices out over the axes."));
  machines_ = new MachinesTab(workspace);
  setTabToolTip(addTab(machines_, tr("Machines")), tr("The shown strategy on other machines."));
  next_ = new NextTab(workspace);
  setTabToolTip(addTab(next_, tr("What next")), tr("What every single change would gain."));
}

void ComparePage::begin_picture(const Page* seen) {
  const auto* page = dynamic_cast<const ComparePage*>(seen);
  if (page && page->pins_.any()) pins_.keep_those_of(page->pins_);
  else sweep();
}

void ComparePage::sweep() {
  setCurrentWidget(sweep_);
  sweep_->start();
}

}  // namespace shardscope
