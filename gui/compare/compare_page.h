#pragma once

#include "gui/compare/pins_tab.h"
#include "gui/compare/sweep_tab.h"
#include "gui/look/steady_tabs.h"

namespace shardscope {

// Plans beside each other: those that were pinned, and all meshes of as many devices.
class ComparePage : public SteadyTabs {
  Q_OBJECT
 public:
  explicit ComparePage(Workspace& workspace, QWidget* parent = nullptr);

  PinnedPlans& pins() { return pins_; }
  bool is_busy() const { return sweep_->is_busy(); }
  // Shows the meshes, and plans them.
  void sweep();

 private:
  PinnedPlans pins_;
  SweepTab* sweep_;
};

}  // namespace shardscope
