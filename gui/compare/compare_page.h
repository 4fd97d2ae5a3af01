#pragma once

#include "gui/compare/changes_tab.h"
#include "gui/compare/machines_tab.h"
#include "gui/compare/next_tab.h"
#include "gui/compare/pins_tab.h"
#include "gui/compare/sweep_tab.h"
#include "gui/look/steady_tabs.h"
#include "gui/workspace/page.h"

namespace shardscope {

// Plans beside each other: those that were pinned, what changed from one of them, all meshes of as many devices, other
// machines, and what single changes gain.
class ComparePage : public SteadyTabs, public Page {
  Q_OBJECT
 public:
  ComparePage(Workspace& workspace, PinnedPlans& pins, QWidget* parent = nullptr);

  PinnedPlans& pins() const { return pins_; }
  bool is_busy() const { return changes_->is_busy() || sweep_->is_busy() || machines_->is_busy() || next_->is_busy(); }
  bool is_settled() const override { return !is_busy(); }
  // Of the pinned plans; without any, of all meshes.
  void begin_picture(const Page* seen) override;
  QTabWidget* tabs() override { return this; }
  // Shows the meshes, and plans them.
  void sweep();

 private:
  PinnedPlans& pins_;
  ChangesTab* changes_;
  SweepTab* sweep_;
  MachinesTab* machines_;
  NextTab* next_;
};

}  // namespace shardscope
