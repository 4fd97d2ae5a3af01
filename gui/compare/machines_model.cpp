#include "gui/compare/machines_model.h"

#include <QFont>
#include <algorithm>
#include <cmath>

#include "engine/base/units.h"
#include "gui/document/edits.h"
#include "gui/document/text.h"
#include "gui/look/appearance.h"

namespace shardscope {
namespace {

constexpr double billion = 1e9;

QString dash() { return QString(QChar(0x2013)); }

// Nothing where it is not known.
std::optional<double> quantity(const SweptPlan& plan, int row) {
  const auto known = [](double value) { return value > 0 ? std::optional(value) : std::nullopt; };
  const Utilisation& use = plan.use;
  switch (row) {
    case MachinesModel::time_row: return plan.totals->seconds_per_step;
    case MachinesModel::mfu_row: return known(use.mfu());
    case MachinesModel::tokens_row: return known(use.tokens_per_second() / use.devices);
    case MachinesModel::exposed_row: return plan.exposed_seconds;
    case MachinesModel::memory_row: return double(plan.totals->device_bytes);
    case MachinesModel::limit_row: return known(double(plan.memory_limit_bytes));
    case MachinesModel::moved_row: return plan.totals->wire_bytes_per_device;
    case MachinesModel::hours_row: return known(use.device_hours(billion));
    case MachinesModel::cost_row: return known(use.device_hours(billion) * plan.price_per_device_hour);
    default: return std::nullopt;
  }
}

QString number_text(double value, int row) {
  switch (row) {
    case MachinesModel::time_row:
    case MachinesModel::exposed_row: return qt(seconds_text(value));
    case MachinesModel::mfu_row: return QString("%1 %").arg(100 * value, 0, 'f', 1);
    case MachinesModel::memory_row:
    case MachinesModel::limit_row:
    case MachinesModel::moved_row: return qt(bytes_text(value));
    case MachinesModel::tokens_row: return QString::number(value, 'f', 0);
    default: return QString::number(value, 'g', 4);
  }
}

QString range_text(const SweptPlan& plan) {
  const Evidence& evidence = plan.evidence;
  if (evidence.measurements == 0) return MachinesModel::tr("unverified");
  const double seconds = plan.totals->seconds_per_step;
  return MachinesModel::tr("%1 to %2")
      .arg(qt(seconds_text(seconds * (1 - evidence.time_error))),
           qt(seconds_text(seconds * (1 + evidence.time_error))));
}

}  // namespace

MachinesModel::MachinesModel(const PlanSweep& sweep, const Document& document, QObject* parent)
    : QAbstractTableModel(parent), sweep_(sweep), document_(document) {
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

// Of machines on which the plan fits; where more than one is compared.
bool MachinesModel::is_best(int row, int column) const {
  if (row == state_row || row == range_row || row == limit_row) return false;
  const bool more_is_better = row == mfu_row || row == tokens_row;
  std::optional<double> best;
  int compared = 0;
  for (const SweptPlan& plan : sweep_.plans()) {
    if (!plan.totals || !plan.excess.isEmpty()) continue;
    const std::optional<double> value = quantity(plan, row);
    if (!value) continue;
    ++compared;
    if (!best || (more_is_better ? *value > *best : *value < *best)) best = value;
  }
  const SweptPlan* own = plan_of(column);
  return compared > 1 && own && own->totals && own->excess.isEmpty() && quantity(*own, row) == best;
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
      if (!plan || !plan->totals) return QString();
      if (row == range_row) return range_text(*plan);
      if (const std::optional<double> value = quantity(*plan, row)) return number_text(*value, row);
      return dash();
    case Qt::ToolTipRole:
      if (!plan || !plan->is_done()) return {};
      if (row == state_row) return plan->error.isEmpty() ? plan->excess : plan->error;
      if (row == range_row && plan->totals && plan->evidence.measurements > 0)
        return tr("Mean error of such predictions: %1 %, over %2 measurements.")
            .arg(100 * plan->evidence.time_error, 0, 'f', 1)
            .arg(plan->evidence.measurements);
      return data(index, Qt::DisplayRole);
    case Qt::ForegroundRole:
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
  const QString titles[] = {tr("State"),
                            tr("Time a step"),
                            tr("By its errors"),
                            tr("MFU"),
                            tr("Tokens/s a device"),
                            tr("Exposed a step"),
                            tr("Memory"),
                            tr("A device has"),
                            tr("Sent a step"),
                            tr("Hours for 10\u2079 tokens"),
                            tr("Cost of 10\u2079 tokens")};
  const QString tips[] = {tr("Whether it can be planned, and fits into memory."),
                          tr("What the cost model predicts."),
                          tr("The predicted step, less and more by the mean error of such predictions."),
                          tr("Model FLOPs a second, as a share of the devices' peak."),
                          tr("Tokens a second that one device trains on."),
                          tr("Communication that nothing hides, on the stage where it is most."),
                          tr("What the heaviest device holds, as the software stack does."),
                          tr("What a device may hold: the run file's limit, else what the machine has."),
                          tr("Bytes that each device sends in a training step."),
                          tr("Device hours to train on 10\u2079 tokens."),
                          tr("At the price that the machine's file has for an hour of a device.")};
  if (role == Qt::DisplayRole) return titles[section];
  if (role == Qt::ToolTipRole) return tips[section];
  return {};
}

}  // namespace shardscope
