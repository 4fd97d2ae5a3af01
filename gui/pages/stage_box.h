#pragma once

#include <QComboBox>

#include "gui/workspace/workspace.h"

namespace shardscope {

// Which stage of a pipeline a page shows: that of the selected device; choosing one here selects its first device.
// Hidden where the plan has one stage.
class StageBox : public QComboBox {
  Q_OBJECT
 public:
  explicit StageBox(Workspace& workspace, QWidget* parent = nullptr);

 private:
  void take_plan();
  void follow_device();

  Workspace& workspace_;
};

}  // namespace shardscope
