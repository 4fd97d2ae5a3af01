#include "gui/pages/flow_page.h"

#include <QCheckBox>
#include <QHBoxLayout>
#include <QLabel>
#include <QVBoxLayout>
#include <algorithm>

#include "gui/pages/collectives_model.h"
#include "gui/pages/flow_delegate.h"
#include "gui/window/appearance.h"
#include "viz/paint/units.h"

namespace shardscope {
namespace {

QString layout_text(const Plan& plan, int value) {
  const ProgramValue& lies = plan.program.values[value];
  return qt(to_string(lies.shape)) + "  " + qt(to_string(lies.sharding, plan.mesh));
}

}  // namespace

FlowModel::FlowModel(Workspace& workspace, QObject* parent) : QAbstractListModel(parent), workspace_(workspace) {
  connect(&workspace.planner, &Planner::delivered, this, &FlowModel::take_plan);
  take_plan();
}

void FlowModel::show_phase(Phase phase) {
  phase_ = phase;
  take_plan();
}

void FlowModel::set_only_reshards(bool only) {
  only_reshards_ = only;
  take_plan();
}

void FlowModel::take_plan() {
  beginResetModel();
  plan_ = workspace_.planner.plan();
  steps_.clear();
  for (int i = 0; plan_ && i < plan_->steps().size(); ++i) {
    const Step& step = plan_->steps()[i];
    if (step.phase == phase_ && (!only_reshards_ || step.kind != StepKind::compute)) steps_.push_back(i);
  }
  endResetModel();
}

int FlowModel::row_of_step(int step) const {
  const auto found = std::ranges::lower_bound(steps_, step);
  return found != steps_.end() && *found == step ? static_cast<int>(found - steps_.begin()) : -1;
}

int FlowModel::rowCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(steps_.size());
}

QVariant FlowModel::data(const QModelIndex& index, int role) const {
  if (!index.isValid()) return {};
  const int id = steps_[index.row()];
  const Step& step = plan_->steps()[id];
  const bool reshard = step.kind != StepKind::compute;
  const QString kind = QString::fromUtf8(name(step.kind).data());
  switch (role) {
    case step_role: return id;
    case reshard_role: return reshard;
    case kind_role: return static_cast<int>(step.kind);
    case Qt::DisplayRole:
    case Qt::AccessibleTextRole: {
      const QString op = qt(plan_->step_name(step));
      if (!reshard) return op.startsWith("params/") ? op.mid(7) : op;
      const QString over = axes_text(plan_->mesh, step.axes);
      return over.isEmpty() ? kind : tr("%1 over %2").arg(kind, over);
    }
    case layout_role: {
      if (step.outputs.empty()) return {};
      if (!reshard || step.inputs.empty()) return layout_text(*plan_, step.outputs.front());
      const QString from = qt(to_string(plan_->program.values[step.inputs.front()].sharding, plan_->mesh));
      const QString to = qt(to_string(plan_->program.values[step.outputs.front()].sharding, plan_->mesh));
      return from + QString(" \u2192 ") + to;
    }
    case cost_role:
      if (is_collective(step.kind)) return qt(bytes_text(step.wire_bytes));
      return step.flops > 0 ? qt(flops_text(step.flops)) : QString();
    case value_role: return step.outputs.empty() ? QString() : qt(plan_->value_name(step.outputs.front()));
    case Qt::ToolTipRole: {
      QStringList lines{qt(plan_->step_name(step))};
      if (reshard) lines << short_cause(qt(plan_->cause(step)));
      for (int value : step.outputs) {
        const ProgramValue& lies = plan_->program.values[value];
        lines << tr("gives %1, local %2").arg(layout_text(*plan_, value), qt(to_string(lies.local_shape)));
      }
      lines << tr("predicted %1").arg(qt(seconds_text(plan_->seconds(id))));
      return lines.join('\n');
    }
    default: return {};
  }
}

FlowPage::FlowPage(Workspace& workspace, QWidget* parent)
    : QWidget(parent), workspace_(workspace), model_(new FlowModel(workspace, this)), list_(new QListView(this)) {
  auto* phase = new QComboBox(this);
  phase->addItems({tr("Forward pass"), tr("Backward pass"), tr("Update")});
  phase->setToolTip(tr("Which part of the training step is shown."));
  connect(phase, &QComboBox::currentIndexChanged, this, [this](int i) { model_->show_phase(static_cast<Phase>(i)); });
  auto* only = new QCheckBox(tr("Only reshards"), this);
  only->setToolTip(tr("Reshard: an array is moved from one layout to another because an op needs it so."));
  connect(only, &QCheckBox::toggled, this, [this](bool on) { model_->set_only_reshards(on); });
  auto* hint = new QLabel(tr("[axes] per dimension; partial{axis}: an unfinished sum"), this);
  hint->setFont(small_font());
  hint->setProperty("muted", true);
  hint->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred);
  hint->setAlignment(Qt::AlignRight | Qt::AlignVCenter);

  list_->setObjectName("flow");
  list_->setModel(model_);
  list_->setItemDelegate(new FlowDelegate(list_));
  list_->setUniformItemSizes(true);
  list_->setMouseTracking(true);
  list_->setFrameShape(QFrame::NoFrame);
  list_->setVerticalScrollMode(QAbstractItemView::ScrollPerPixel);
  connect(list_->selectionModel(), &QItemSelectionModel::currentChanged, this, [this](const QModelIndex& index) {
    if (index.isValid()) workspace_.selection.select_step(index.data(FlowModel::step_role).toInt());
  });
  connect(&workspace.selection, &Selection::stepChanged, this, &FlowPage::follow_step);
  connect(&workspace.planner, &Planner::delivered, this, &FlowPage::show_state);

  auto* top = new QHBoxLayout;
  top->setContentsMargins(10, 8, 10, 8);
  top->setSpacing(12);
  top->addWidget(phase);
  top->addWidget(only);
  top->addWidget(hint, 1);
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->setSpacing(0);
  layout->addLayout(top);
  layout->addWidget(list_, 1);
}

void FlowPage::follow_step() {
  const int row = model_->row_of_step(workspace_.selection.step());
  if (row < 0) {
    list_->clearSelection();
    return;
  }
  if (list_->currentIndex().row() != row) list_->setCurrentIndex(model_->index(row));
}

void FlowPage::show_state() { list_->setEnabled(workspace_.planner.is_current() || workspace_.planner.is_busy()); }

}  // namespace shardscope
