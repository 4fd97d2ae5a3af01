#include "gui/pages/flow_model.h"

#include <algorithm>

#include "engine/base/units.h"
#include "gui/document/text.h"
#include "gui/workspace/array_facts.h"

namespace shardscope {
namespace {

QString edge_layout_text(const Plan& plan, int value) {
  const ProgramValue& program_value = plan.program.values[value];
  return qt(to_string(program_value.shape)) + "  " + qt(to_string(program_value.sharding, plan.mesh));
}

}  // namespace

FlowModel::FlowModel(Workspace& workspace, QObject* parent) : QAbstractListModel(parent), workspace_(workspace) {
  connect(&workspace.planner, &Planner::delivered, this, &FlowModel::take_plan);
  connect(&workspace.selection, &Selection::deviceChanged, this, [this] {
    if (plan_ && shown_stage(*plan_, workspace_.selection) != stage_) take_plan();
  });
}

void FlowModel::set_shown(bool shown) {
  is_shown_ = shown;
  if (shown && plan_ != workspace_.planner.plan()) take_plan();
}

void FlowModel::show_phase(Phase phase) {
  phase_ = phase;
  take_plan();
}

void FlowModel::set_only_reshards(bool only) {
  only_reshards_ = only;
  take_plan();
}

// Where it is not seen it lets its plan go and takes the newest when it is shown.
void FlowModel::take_plan() {
  beginResetModel();
  plan_ = is_shown_ ? workspace_.planner.plan() : nullptr;
  steps_.clear();
  if (plan_) {
    stage_ = shown_stage(*plan_, workspace_.selection);
    const SequenceInstructions steps = plan_->instructions(stage_);
    for (const auto& [position, count] : distinct_instructions(plan_->program.main(stage_))) {
      const Instruction& instruction = steps[position];
      if (instruction.as<CollectiveDone>()) continue;
      if (instruction.phase == phase_ && !(only_reshards_ && instruction.kind() == InstructionKind::compute))
        steps_.push_back(steps.id(position));
    }
  }
  endResetModel();
}

// The forward value that a step computes or lays out anew.
ArrayRef FlowModel::result_of(const Instruction& instruction) const {
  if (instruction.destinations().empty()) return {};
  const ValueLayout* layout =
      layout_of(workspace_.planner, plan_->program.values[instruction.destinations().front()].graph_value);
  return layout ? ArrayRef(ValueRef{layout->name}) : ArrayRef();
}

int FlowModel::row_of_step(std::optional<StepRef> step) const {
  if (!step) return -1;
  const auto found = std::ranges::find(steps_, *step);
  return found != steps_.end() ? static_cast<int>(found - steps_.begin()) : -1;
}

int FlowModel::rowCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(steps_.size());
}

QVariant FlowModel::data(const QModelIndex& index, int role) const {
  if (!index.isValid()) return {};
  const StepRef id = steps_[index.row()];
  const Instruction& instruction = *find_step(*plan_, id);
  const bool reshard = instruction.kind() != InstructionKind::compute;
  const QString kind = qt(name(instruction.kind()));
  switch (role) {
    case step_role: return QVariant::fromValue(id);
    case reshard_role: return reshard;
    case kind_role: return static_cast<int>(instruction.kind());
    case Qt::DisplayRole:
    case Qt::AccessibleTextRole: {
      if (!reshard || is_transfer(instruction.kind())) return short_name(plan_->instruction_name(instruction));
      const QString over = axes_text(plan_->mesh, instruction.axes());
      return over.isEmpty() ? kind : tr("%1 over %2").arg(kind, over);
    }
    case layout_role: {
      if (instruction.kind() == InstructionKind::send) return edge_layout_text(*plan_, instruction.operands().front());
      if (instruction.destinations().empty()) return {};
      if (!reshard || instruction.operands().empty())
        return edge_layout_text(*plan_, instruction.destinations().front());
      const QString from = qt(to_string(plan_->program.values[instruction.operands().front()].sharding, plan_->mesh));
      const QString to = qt(to_string(plan_->program.values[instruction.destinations().front()].sharding, plan_->mesh));
      return from + QString(" \u2192 ") + to;
    }
    case cost_role:
      if (is_collective(instruction.kind()) || instruction.kind() == InstructionKind::send)
        return qt(bytes_text(instruction.wire_bytes()));
      return instruction.flops() > 0 ? qt(flops_text(instruction.flops())) : QString();
    case array_role: return QVariant::fromValue(result_of(instruction));
    case Qt::ToolTipRole: {
      QStringList lines{qt(plan_->instruction_name(instruction))};
      if (const QString cause = qt(plan_->cause(instruction)); !cause.isEmpty()) lines << short_cause(cause);
      for (int value : instruction.destinations()) {
        const ProgramValue& program_value = plan_->program.values[value];
        lines
            << tr("gives %1, local %2").arg(edge_layout_text(*plan_, value), qt(to_string(program_value.local_shape)));
      }
      lines << tr("predicted %1").arg(qt(seconds_text(plan_->instruction_seconds[id])));
      return lines.join('\n');
    }
    default: return {};
  }
}

}  // namespace shardscope
