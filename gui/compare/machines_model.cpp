#include "gui/compare/machines_model.h"

#include <QFont>
#include <QSettings>
#include <algorithm>

#include "engine/base/units.h"
#include "engine/plan/prediction.h"
#include "gui/document/text.h"
#include "gui/look/appearance.h"

namespace shardscope {
namespace {

const char* const prices_setting = "compare/prices";

// Of a row that is a number.
const PlanQuantity& machine_quantity(int row) {
  switch (row) {
    case MachinesModel::time_row: return quantities::time;
    case MachinesModel::mfu_row: return quantities::mfu;
    case MachinesModel::hfu_row: return quantities::hfu;
    case MachinesModel::tokens_row: return quantities::tokens;
    case MachinesModel::exposed_row: return quantities::exposed;
    case MachinesModel::memory_row: return quantities::memory;
    case MachinesModel::limit_row: return quantities::limit;
    case MachinesModel::moved_row: return quantities::sent;
    case MachinesModel::hours_row: return quantities::hours;
    case MachinesModel::price_row: return quantities::price;
    default: return quantities::cost;
  }
}

bool is_text(int row) {
  return row == MachinesModel::state_row || row == MachinesModel::software_row || row == MachinesModel::range_row;
}

QString range_text(const PlanFacts& plan) {
  const PredictedRange range = predicted_range(plan.totals.seconds_per_step, plan.evidence.time_error);
  if (!range) return MachinesModel::tr("unverified");
  return MachinesModel::tr("%1 to %2").arg(qt(seconds_text(range->first)), qt(seconds_text(range->second)));
}

}  // namespace

MachinesModel::MachinesModel(const PlanSweep& sweep, const Document& document, QObject* parent)
    : QAbstractTableModel(parent),
      sweep_(sweep),
      document_(document),
      prices_(QSettings().value(prices_setting).toMap()) {
  connect(&sweep, &PlanSweep::started, this, &MachinesModel::refresh);
  connect(&sweep, &PlanSweep::planned, this, &MachinesModel::refresh);
  connect(&sweep, &PlanSweep::ended, this, &MachinesModel::refresh);
  connect(&document, &Document::configChanged, this, &MachinesModel::refresh);
  connect(&look(), &Look::changed, this, &MachinesModel::refresh);
}

void MachinesModel::set_machines(const QStringList& names) {
  beginResetModel();
  names_ = names;
  endResetModel();
}

void MachinesModel::refresh() {
  if (names_.isEmpty()) return;
  emit dataChanged(index(0, 0), index(rows - 1, columnCount() - 1));
  emit headerDataChanged(Qt::Horizontal, 0, columnCount() - 1);
}

int MachinesModel::rowCount(const QModelIndex& parent) const { return parent.isValid() ? 0 : int(rows); }

int MachinesModel::columnCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(names_.size());
}

const SweptPlan* MachinesModel::plan_of(int column) const {
  return column < std::ssize(sweep_.plans()) ? &sweep_.plans()[static_cast<size_t>(column)] : nullptr;
}

std::optional<double> MachinesModel::value_of(int row, int column) const {
  const double price = prices_.value(names_[column]).toDouble();
  if (row == price_row && price > 0) return price;
  const SweptPlan* plan = plan_of(column);
  if (!plan || !plan->facts || is_text(row)) return std::nullopt;
  PlanFacts facts = *plan->facts;
  if (price > 0) facts.price_per_device_hour = price;
  return machine_quantity(row).of(facts);
}

bool MachinesModel::is_verified(int column) const {
  const SweptPlan* plan = plan_of(column);
  return plan && plan->facts && plan->facts->evidence.measurements > 0;
}

// Of machines on which the plan fits, and of these of predictions that measurements back, where there are any; where
// they differ in what is shown.
bool MachinesModel::is_best(int row, int column) const {
  if (is_text(row) || row == limit_row || row == price_row) return false;
  bool any_verified = false;
  for (int each = 0; each < columnCount(); ++each) any_verified |= is_verified(each);
  const auto value_where_it_fits = [&](int of) {
    const SweptPlan* plan = plan_of(of);
    return plan && plan->fits() && is_verified(of) == any_verified ? value_of(row, of) : std::nullopt;
  };
  std::vector<double> values;
  for (int each = 0; each < columnCount(); ++each)
    if (const std::optional<double> value = value_where_it_fits(each)) values.push_back(*value);
  if (values.empty()) return false;
  const PlanQuantity& compared = machine_quantity(row);
  const auto [least, most] = std::ranges::minmax(values);
  return compared.text(least) != compared.text(most) &&
         value_where_it_fits(column) == (compared.more_is_better ? most : least);
}

Qt::ItemFlags MachinesModel::flags(const QModelIndex& index) const {
  const Qt::ItemFlags flags = QAbstractTableModel::flags(index);
  return index.row() == price_row ? flags | Qt::ItemIsEditable : flags;
}

bool MachinesModel::setData(const QModelIndex& index, const QVariant& value, int role) {
  if (role != Qt::EditRole || index.row() != price_row) return false;
  prices_[names_[index.column()]] = std::max(0.0, value.toDouble());
  QSettings().setValue(prices_setting, prices_);
  refresh();
  return true;
}

QVariant MachinesModel::data(const QModelIndex& index, int role) const {
  if (!index.isValid()) return {};
  const int row = index.row();
  const SweptPlan* plan = plan_of(index.column());
  switch (role) {
    case Qt::DisplayRole:
      if (row == state_row) {
        if (!plan || !plan->is_done()) return plan && sweep_.is_running() ? QString(QChar(0x2026)) : tr("not planned");
        if (!plan->error.isEmpty()) return tr("cannot be: %1").arg(plan->error.section('\n', 0, 0));
        return plan->excess.isEmpty() ? tr("fits") : tr("does not fit");
      }
      if (row != price_row && (!plan || !plan->facts)) return QString();
      if (row == range_row) return range_text(*plan->facts);
      if (row == software_row) return qt(plan->facts->software);
      if (const std::optional<double> value = value_of(row, index.column())) return machine_quantity(row).text(*value);
      return row == price_row ? tr("set\u2026") : QString(QChar(0x2013));
    case Qt::EditRole: return value_of(row, index.column()).value_or(0);
    case Qt::ToolTipRole:
      if (row == price_row) return quantities::price.tip();
      if (!plan || !plan->is_done()) return {};
      if (row == state_row) return plan->error.isEmpty() ? plan->excess : plan->error;
      if (row == range_row && plan->facts && plan->facts->evidence.measurements > 0)
        return tr("Mean error of such predictions: %1, over %2 measurements.")
            .arg(qt(share_text(plan->facts->evidence.time_error)))
            .arg(plan->facts->evidence.measurements);
      if (plan->facts && !is_verified(index.column()))
        return tr("Unverified: %1.")
            .arg(qt(unverified_text(names_[index.column()].toStdString(), plan->facts->software)));
      if (row == exposed_row && !plan->exposed.empty()) return qt(to_string(plan->exposed));
      return data(index, Qt::DisplayRole);
    case Qt::ForegroundRole:
      if (row == price_row) return theme().accent;
      if (!plan || !plan->is_done()) return theme().muted;
      if (row == state_row)
        return !plan->error.isEmpty() ? theme().muted : plan->excess.isEmpty() ? theme().good : theme().error;
      if (is_best(row, index.column())) return theme().good;
      return {};
    case Qt::FontRole: {
      QFont font;
      font.setBold(plan && plan->config.machine == document_.config().machine);
      return font;
    }
    case Qt::TextAlignmentRole: return QVariant(Qt::AlignRight | Qt::AlignVCenter);
    default: return {};
  }
}

QVariant MachinesModel::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation == Qt::Horizontal) {
    if (role == Qt::DisplayRole) return names_[section];
    if (role == Qt::ToolTipRole) return tr("%1; a double click in its column takes it.").arg(names_[section]);
    return {};
  }
  if (role != Qt::DisplayRole && role != Qt::ToolTipRole) return {};
  const bool is_title = role == Qt::DisplayRole;
  switch (section) {
    case state_row: return is_title ? tr("State") : tr("Whether it can be planned, and fits into memory.");
    case software_row: return is_title ? tr("Software") : tr("The software that is taken to run the plan there.");
    case range_row:
      return is_title ? tr("Its range")
                      : tr("The predicted step, divided by and times 1 + the mean error of such predictions.");
    default: return is_title ? machine_quantity(section).title() : machine_quantity(section).tip();
  }
}

}  // namespace shardscope
