#include "gui/pages/stage_box.h"

#include <QSignalBlocker>

#include "gui/document/text.h"
#include "gui/look/field_guard.h"
#include "viz/paint/layout_geometry.h"

namespace shardscope {

StageBox::StageBox(Workspace& workspace, QWidget* parent) : QComboBox(parent), workspace_(workspace) {
  setObjectName("stage");
  guard_field(this);
  setToolTip(tr("Which stage of the pipeline is shown: that of the selected device."));
  connect(&workspace.planner, &Planner::delivered, this, &StageBox::take_plan);
  connect(&workspace.selection, &Selection::deviceChanged, this, &StageBox::follow_device);
  connect(this, &QComboBox::activated, this, [this](int stage) {
    const std::shared_ptr<const Plan> plan = workspace_.planner.plan();
    if (plan && stage < plan->program.stages) workspace_.selection.select_device(plan->devices_of_stage(stage).front());
  });
  take_plan();
}

void StageBox::take_plan() {
  const std::shared_ptr<const Plan> plan = workspace_.planner.plan();
  const int stages = plan ? plan->program.stages : 1;
  const QSignalBlocker block(this);
  clear();
  for (int stage = 0; plan && stage < stages; ++stage) {
    addItem(tr("stage %1").arg(stage));
    setItemData(stage, tr("devices %1").arg(qt(device_text(plan->devices_of_stage(stage)))), Qt::ToolTipRole);
  }
  setVisible(stages > 1);
  follow_device();
}

void StageBox::follow_device() {
  if (const std::shared_ptr<const Plan> plan = workspace_.planner.plan())
    setCurrentIndex(shown_stage(*plan, workspace_.selection));
}

}  // namespace shardscope
