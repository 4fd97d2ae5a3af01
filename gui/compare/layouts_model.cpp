#include "gui/compare/layouts_model.h"

#include "engine/base/path.h"
#include "gui/document/text.h"
#include "gui/look/appearance.h"

namespace shardscope {

LayoutsModel::LayoutsModel(Workspace& workspace, const PinnedPlans& pins, QObject* parent)
    : QAbstractTableModel(parent), workspace_(workspace), pins_(pins) {}

void LayoutsModel::set_shows_all(bool all) {
  shows_all_ = all;
  is_old_ = true;
  refresh();
}

const PinnedPlan* LayoutsModel::plan_of(int column) const {
  if (column == 1) return shown_.plan ? &shown_ : nullptr;
  return pins_.at(column - 2);
}

bool LayoutsModel::differs(const std::string& array) const {
  const auto own = shown_.layouts.find(array);
  for (int place = 0; place < PinnedPlans::count; ++place) {
    const PinnedPlan* pin = pins_.at(place);
    if (!pin) continue;
    const auto other = pin->layouts.find(array);
    if (other == pin->layouts.end()) return true;
    if (shown_.plan->mesh.axes() == pin->plan->mesh.axes() && *own->second == *other->second) continue;
    if (shown_.layout_text(array) != pin->layout_text(array)) return true;
  }
  return false;
}

void LayoutsModel::refresh() {
  if (!is_old_) return;
  is_old_ = false;
  beginResetModel();
  rows_.clear();
  const std::shared_ptr<const Plan> plan = workspace_.planner.plan();
  if (shown_.plan != plan) shown_ = plan ? PinnedPlan(plan, 0) : PinnedPlan();
  if (plan) {
    for (const ParameterPlan& parameter : plan->parameters)
      if (const std::string name = join_path(parameter.path); shows_all_ || differs(name))
        rows_.push_back({name, ParameterRef{parameter.path}});
    for (const ValueLayout& layout : plan->layouts)
      if (shows_all_ || differs(layout.name)) rows_.push_back({layout.name, ValueRef{layout.name}});
  }
  endResetModel();
}

int LayoutsModel::rowCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(rows_.size());
}

int LayoutsModel::columnCount(const QModelIndex& parent) const { return parent.isValid() ? 0 : 2 + PinnedPlans::count; }

QVariant LayoutsModel::data(const QModelIndex& index, int role) const {
  if (!index.isValid()) return {};
  const Row& row = rows_.at(static_cast<size_t>(index.row()));
  if (role == array_role) return QVariant::fromValue(row.array);
  if (role == Qt::ToolTipRole && index.column() == 0) return qt(row.name);
  if (role == Qt::DisplayRole || role == Qt::ToolTipRole) {
    if (index.column() == 0) return title_of(row.array);
    const PinnedPlan* plan = plan_of(index.column());
    return plan ? plan->layout_text(row.name) : QString();
  }
  if (role == Qt::ForegroundRole && index.column() > 1 && plan_of(index.column()))
    return plan_of(index.column())->layout_text(row.name) == shown_.layout_text(row.name) ? QVariant(theme().muted)
                                                                                          : QVariant();
  return {};
}

QVariant LayoutsModel::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation != Qt::Horizontal || role != Qt::DisplayRole) return {};
  if (section < 2) return section == 0 ? tr("Array") : tr("Shown");
  return PinnedPlans::name(section - 2);
}

}  // namespace shardscope
