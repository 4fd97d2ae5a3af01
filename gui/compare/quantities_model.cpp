#include "gui/compare/quantities_model.h"

#include <fmt/format.h>

#include <cmath>

#include "engine/base/units.h"
#include "engine/compile/document_of.h"
#include "gui/compare/factorisations.h"
#include "gui/document/config_difference.h"
#include "gui/document/text.h"
#include "gui/look/appearance.h"

namespace shardscope {
namespace {

std::string whole_text(double value) { return std::to_string(std::llround(value)); }

std::string percent_text(double share) { return fmt::format("{:.1f} %", 100 * share); }

using Format = std::string (*)(double);
Format format_of(int row) {
  switch (row) {
    case QuantitiesModel::memory_row:
    case QuantitiesModel::moved_row: return bytes_text;
    case QuantitiesModel::time_row: return seconds_text;
    case QuantitiesModel::mfu_row: return percent_text;
    case QuantitiesModel::work_row: return flops_text;
    default: return whole_text;
  }
}

double quantity(const Plan& plan, const Utilisation& use, int64_t collectives, int row) {
  const PlanTotals& totals = plan.totals;
  switch (row) {
    case QuantitiesModel::memory_row: return double(totals.device_bytes);
    case QuantitiesModel::moved_row: return totals.wire_bytes_per_device;
    case QuantitiesModel::time_row: return totals.seconds_per_step;
    case QuantitiesModel::mfu_row: return use.mfu();
    case QuantitiesModel::tokens_row: return use.tokens_per_second() / use.devices;
    case QuantitiesModel::work_row: return totals.flops_per_device;
    default: return double(collectives);
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
    return pin ? std::optional(quantity(*pin->plan, pin->utilisation, pin->collectives, row)) : std::nullopt;
  }
  const std::shared_ptr<const Plan> plan = workspace_.planner.plan();
  const PlanIndex& index = workspace_.planner.index();
  return plan ? std::optional(quantity(*plan, index.utilisation, index.exchanges, row)) : std::nullopt;
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
  const double own = *number(row, column);
  QString text = qt(format_of(row)(own));
  const std::optional<double> shown = number(row, 0);
  if (column > 0 && shown && differ(own, *shown)) text += "  (" + qt(signed_text(own - *shown, format_of(row))) + ")";
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
      return row == time_row ? QString::number(*own, 'f', 6) + " s" : qt(format_of(row)(*own));
    }
    case Qt::ForegroundRole: {
      const std::optional<double> own = number(row, column), shown = number(row, 0);
      if (column == 0 || !own || !shown || !differ(*own, *shown)) return {};
      const bool more_is_better = row == mfu_row || row == tokens_row;
      return (*own < *shown) != more_is_better ? theme().good : theme().warning;
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
  const QString titles[] = {
      tr("Mesh"), tr("Layout mode"),       tr("Memory"),      tr("Sent a step"), tr("Time a step"),
      tr("MFU"),  tr("Tokens/s a device"), tr("Work a step"), tr("Collectives")};
  const QString tips[] = {tr("Size of each axis."),
                          tr("How values that nobody pinned are laid out."),
                          tr("Memory of all arrays on the heaviest device."),
                          tr("Bytes that each device sends in a training step."),
                          tr("What the cost model predicts."),
                          tr("Model FLOPs a second, as a share of the devices' peak."),
                          tr("Tokens a second that one device trains on."),
                          tr("Floating-point operations of each device."),
                          tr("How many times a step the devices exchange parts of arrays.")};
  if (role == Qt::DisplayRole) return titles[section];
  if (role == Qt::ToolTipRole) return tips[section];
  return {};
}

}  // namespace shardscope
