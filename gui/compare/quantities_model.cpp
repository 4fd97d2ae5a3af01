#include "gui/compare/quantities_model.h"

#include <cmath>

#include "engine/base/units.h"
#include "engine/compile/document_of.h"
#include "gui/compare/factorisations.h"
#include "gui/document/config_difference.h"
#include "gui/document/text.h"
#include "gui/look/appearance.h"

namespace shardscope {
namespace {

// Of a row that is a number.
const PlanQuantity& shown_quantity(int row) {
  switch (row) {
    case QuantitiesModel::memory_row: return quantities::memory;
    case QuantitiesModel::moved_row: return quantities::sent;
    case QuantitiesModel::time_row: return quantities::time;
    case QuantitiesModel::exposed_row: return quantities::exposed;
    case QuantitiesModel::mfu_row: return quantities::mfu;
    case QuantitiesModel::hfu_row: return quantities::hfu;
    case QuantitiesModel::hours_row: return quantities::hours;
    case QuantitiesModel::cost_row: return quantities::cost;
    case QuantitiesModel::tokens_row: return quantities::tokens;
    case QuantitiesModel::work_row: return quantities::work;
    default: return quantities::collectives;
  }
}

bool differ(double a, double b) { return std::abs(a - b) > 1e-9 * std::max(std::abs(a), std::abs(b)); }

}  // namespace

QuantitiesModel::QuantitiesModel(Workspace& workspace, const PinnedPlans& pins, QObject* parent)
    : QAbstractTableModel(parent), workspace_(workspace), pins_(pins) {
  connect(&workspace.planner, &Planner::delivered, this, &QuantitiesModel::refresh);
  connect(&pins, &PinnedPlans::changed, this, &QuantitiesModel::refresh);
  connect(&look(), &Look::changed, this, &QuantitiesModel::refresh);
}

void QuantitiesModel::refresh() {
  std::vector<Setting> settings = differing_settings();
  const auto same = [](const Setting& a, const Setting& b) { return a.name == b.name && a.values == b.values; };
  if (!std::ranges::equal(settings, settings_, same)) {
    beginResetModel();
    settings_ = std::move(settings);
    endResetModel();
  }
  emit dataChanged(index(0, 0), index(rowCount() - 1, columnCount() - 1));
  emit headerDataChanged(Qt::Horizontal, 0, columnCount() - 1);
}

// Mesh sizes and layout mode have rows of their own.
std::vector<QuantitiesModel::Setting> QuantitiesModel::differing_settings() const {
  std::vector<Setting> settings;
  const std::shared_ptr<const Plan> shown = workspace_.planner.plan();
  if (!shown) return settings;
  const RunConfig config = document_of(*shown);
  for (int place = 0; place < PinnedPlans::count; ++place) {
    const PinnedPlan* pin = pins_.at(place);
    if (!pin) continue;
    for (const SettingDifference& each : differences(config, document_of(*pin->plan))) {
      if (each.setting.startsWith("mesh.axes") || each.setting == "sharding.mode") continue;
      auto found = std::ranges::find(settings, each.setting, &Setting::name);
      if (found == settings.end()) {
        found = settings.insert(settings.end(), {each.setting, {}});
        found->values.fill(each.before);
      }
      found->values[static_cast<size_t>(place) + 1] = each.after;
    }
  }
  return settings;
}

int QuantitiesModel::rowCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : rows + static_cast<int>(settings_.size());
}

int QuantitiesModel::columnCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : 1 + PinnedPlans::count;
}

std::optional<double> QuantitiesModel::number(int row, int column) const {
  if (row < memory_row || row >= rows) return std::nullopt;
  if (column > 0) {
    const PinnedPlan* pin = pins_.at(column - 1);
    return pin ? shown_quantity(row).of(*pin->facts) : std::nullopt;
  }
  const std::shared_ptr<const Plan> plan = workspace_.planner.plan();
  const PlanIndex& index = workspace_.planner.index();
  if (!plan) return std::nullopt;
  return shown_quantity(row).of({*plan, index.utilisation, index.exchanges});
}

QString QuantitiesModel::text(int row, int column) const {
  const PinnedPlan* pin = column > 0 ? pins_.at(column - 1) : nullptr;
  const std::shared_ptr<const Plan> plan = column == 0 ? workspace_.planner.plan() : pin ? pin->plan : nullptr;
  if (!plan) return QString(QChar(0x2013));
  if (row >= rows) {
    const QString& value = settings_[static_cast<size_t>(row - rows)].values[static_cast<size_t>(column)];
    return value.isEmpty() ? QString(QChar(0x2013)) : value;
  }
  if (row == mesh_row) return mesh_text(plan->mesh.axes());
  if (row == mode_row) return plan->as_written ? tr("as written") : tr("fastest");
  const std::optional<double> own = number(row, column), shown = number(row, 0);
  if (!own) return QString(QChar(0x2013));
  QString text = shown_quantity(row).text(*own);
  if (column > 0 && shown && differ(*own, *shown))
    text += "  (" + qt(signed_text(*own - *shown, shown_quantity(row).format)) + ")";
  return text;
}

QVariant QuantitiesModel::data(const QModelIndex& index, int role) const {
  if (!index.isValid()) return {};
  const int row = index.row(), column = index.column();
  switch (role) {
    case Qt::DisplayRole: return text(row, column);
    case Qt::ToolTipRole: {
      const std::optional<double> own = number(row, column);
      if (!own) return text(row, column);
      if (row == memory_row || row == moved_row) return qt(exact_bytes(*own));
      return row == time_row ? QString::number(*own, 'f', 6) + " s" : shown_quantity(row).text(*own);
    }
    case Qt::ForegroundRole: {
      const std::optional<double> own = number(row, column), shown = number(row, 0);
      if (column == 0 || !own || !shown || !differ(*own, *shown)) return {};
      return (*own < *shown) != shown_quantity(row).more_is_better ? theme().good : theme().warning;
    }
    case Qt::TextAlignmentRole: return QVariant(Qt::AlignRight | Qt::AlignVCenter);
    default: return {};
  }
}

QVariant QuantitiesModel::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation == Qt::Horizontal) {
    if (role == Qt::DisplayRole) return section == 0 ? tr("Shown") : pins_.name(section - 1);
    if (role == Qt::ToolTipRole)
      return section == 0 ? tr("The plan that the window shows.")
                          : tr("A pinned plan; in parentheses its difference from the shown one.");
    return {};
  }
  if (section >= rows) {
    const QString& name = settings_[static_cast<size_t>(section - rows)].name;
    if (role == Qt::ToolTipRole) return tr("%1 in the run file; \u2013: it does not say it.").arg(name);
    return role == Qt::DisplayRole ? QVariant(name) : QVariant();
  }
  if (role != Qt::DisplayRole && role != Qt::ToolTipRole) return {};
  const bool is_title = role == Qt::DisplayRole;
  switch (section) {
    case mesh_row: return is_title ? tr("Mesh") : tr("Size of each axis.");
    case mode_row: return is_title ? tr("Layout mode") : tr("How values that nobody pinned are laid out.");
    default: return is_title ? shown_quantity(section).title() : shown_quantity(section).tip();
  }
}

}  // namespace shardscope
