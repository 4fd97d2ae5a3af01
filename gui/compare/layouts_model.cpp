#include "gui/compare/layouts_model.h"

#include <unordered_set>

#include <algorithm>

#include "engine/base/path.h"
#include "gui/document/text.h"
#include "gui/look/appearance.h"

namespace shardscope {
namespace {

// Over axes of the same names, whatever their sizes.
bool lie_alike(const Sharding& one, const Mesh& mesh, const Sharding& other, const Mesh& other_mesh) {
  if (mesh.axes() == other_mesh.axes()) return one == other;
  const auto name = [](const Mesh& of) { return [&of](AxisIndex axis) { return of.axes()[axis].name; }; };
  const auto partial = [](const Sharding& of, const Mesh& on) {
    std::vector<std::string> names;
    for (int axis = 0; axis < on.axis_count(); ++axis)
      if (of.partial >> axis & 1) names.push_back(on.axes()[static_cast<size_t>(axis)].name);
    return names;
  };
  if (one.rank != other.rank || one.reduction != other.reduction) return false;
  for (size_t dim = 0; dim < one.rank; ++dim)
    if (!std::ranges::equal(one.dims[dim], other.dims[dim], {}, name(mesh), name(other_mesh))) return false;
  return partial(one, mesh) == partial(other, other_mesh);
}

}  // namespace

LayoutsModel::LayoutsModel(Workspace& workspace, const PinnedPlans& pins, QObject* parent)
    : QAbstractTableModel(parent), workspace_(workspace), pins_(pins) {}

void LayoutsModel::set_shows_all(bool all) {
  shows_all_ = all;
  is_old_ = true;
  refresh();
}

bool LayoutsModel::differs(const std::string& array, const Sharding& shown) const {
  for (int place = 0; place < PinnedPlans::count; ++place) {
    const PinnedPlan* pin = pins_.at(place);
    if (!pin) continue;
    const Sharding* other = pin->layout(array);
    if (!other || !lie_alike(shown, shown_->mesh, *other, pin->plan->mesh)) return true;
  }
  return false;
}

// A plan that nobody looks at any more is not kept.
void LayoutsModel::let_refresh() {
  is_old_ = true;
  if (!shown_ || shown_ == workspace_.planner.plan()) return;
  beginResetModel();
  rows_.clear();
  shown_.reset();
  endResetModel();
}

void LayoutsModel::refresh() {
  if (!is_old_) return;
  is_old_ = false;
  beginResetModel();
  rows_.clear();
  shown_ = pins_.any() ? workspace_.planner.plan() : nullptr;
  if (shown_) {
    std::unordered_set<std::string> known;
    for (const LaidOutArray& each : laid_out_arrays(*shown_)) {
      known.insert(each.name);
      if (shows_all_ || differs(each.name, *each.sharding)) rows_.push_back({each.name, each.array, each.sharding});
    }
    for (int place = 0; place < PinnedPlans::count; ++place) {
      if (!pins_.at(place)) continue;
      for (const auto& [name, array] : pins_.at(place)->arrays)
        if (known.insert(name).second) rows_.push_back({name, array, nullptr});
    }
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
  const bool is_text = role == Qt::DisplayRole || role == Qt::ToolTipRole;
  if (!is_text && role != Qt::ForegroundRole) return {};
  if (index.column() < 2) {
    if (!is_text) return {};
    if (index.column() == 1) return row.shown ? qt(to_string(*row.shown, shown_->mesh)) : tr("not there");
    const auto* state = std::get_if<StateRef>(&row.array);
    if (role == Qt::ToolTipRole) return qt(row.name);
    return state ? title_of(row.array) + "/" + qt(state->state) : title_of(row.array);
  }
  const PinnedPlan* pin = pins_.at(index.column() - 2);
  const Sharding* layout = pin ? pin->layout(row.name) : nullptr;
  if (!layout) return pin && is_text ? QVariant(tr("not there")) : QVariant();
  if (is_text) return qt(to_string(*layout, pin->plan->mesh));
  if (row.shown && lie_alike(*row.shown, shown_->mesh, *layout, pin->plan->mesh)) return theme().muted;
  return {};
}

QVariant LayoutsModel::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation != Qt::Horizontal || role != Qt::DisplayRole) return {};
  if (section < 2) return section == 0 ? tr("Array") : tr("Shown");
  return pins_.name(section - 2);
}

}  // namespace shardscope
