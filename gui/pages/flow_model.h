#pragma once

#include <QAbstractListModel>
#include <vector>

#include "gui/workspace/workspace.h"

namespace shardscope {

// The steps of one phase in program order: an op with the layout of its result, or a reshard between two ops.
class FlowModel : public QAbstractListModel {
  Q_OBJECT
 public:
  enum Role { step_role = Qt::UserRole, reshard_role, layout_role, cost_role, array_role, kind_role };

  explicit FlowModel(Workspace& workspace, QObject* parent = nullptr);

  // What is not shown does no work.
  void set_shown(bool shown);
  void show_phase(Phase phase);
  void set_only_reshards(bool only);
  int row_of_step(std::optional<StepRef> step) const;

  int rowCount(const QModelIndex& parent = {}) const override;
  QVariant data(const QModelIndex& index, int role) const override;

 private:
  void take_plan();
  ArrayRef result_of(const Instruction& instruction) const;

  Workspace& workspace_;
  std::shared_ptr<const Plan> plan_;
  Phase phase_ = Phase::forward;
  int stage_ = 0;
  bool only_reshards_ = false, is_shown_ = false;
  std::vector<StepRef> steps_;
};

}  // namespace shardscope
