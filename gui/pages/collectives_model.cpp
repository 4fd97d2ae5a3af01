#include "gui/pages/collectives_model.h"

#include <QPixmap>
#include <algorithm>
#include <array>

#include "engine/plan/host_groups.h"
#include "gui/document/text.h"
#include "gui/look/appearance.h"
#include "gui/workspace/step_facts.h"
#include "viz/paint/units.h"

namespace shardscope {

namespace {

// A small square in the kind's colour.
QPixmap kind_mark(StepKind kind) {
  QPixmap mark(10, 10);
  mark.fill(step_color(kind, theme()));
  return mark;
}

// The op that needs it, by its name in the model.
QString op_text(const Plan& plan, const Step& step) {
  if (is_transfer(step.kind)) return short_name(plan.step_name(step));
  const bool has_op = plan.graph && step.op >= 0 && step.op < static_cast<OpId>(plan.graph->ops.size());
  return short_name(has_op ? plan.graph->ops[step.op].name : plan.step_name(step));
}

// " \u2194 2 hosts", where a group lies on several.
QString across_hosts(const Plan& plan, const Step& step) {
  const int hosts = hosts_of_group(plan, step);
  return hosts > 1 ? QString(" \u2194 %1 hosts").arg(hosts) : QString();
}

}  // namespace

CollectivesModel::CollectivesModel(Workspace& workspace, QObject* parent)
    : QAbstractTableModel(parent), workspace_(workspace) {
  connect(&workspace.planner, &Planner::delivered, this, &CollectivesModel::take_plan);
  connect(&workspace.run, &RunControl::received, this, [this] {
    if (rowCount() > 0) emit dataChanged(index(0, measured_column), index(rowCount() - 1, measured_column));
  });
  take_plan();
}

void CollectivesModel::take_plan() {
  if (plan_ == workspace_.planner.plan()) {
    if (rowCount() > 0) emit dataChanged(index(0, 0), index(rowCount() - 1, columns - 1));
    return;
  }
  beginResetModel();
  plan_ = workspace_.planner.plan();
  steps_ = workspace_.planner.index().collectives;
  causes_.clear();
  arrange();
  endResetModel();
}

void CollectivesModel::sort(int column, Qt::SortOrder order) {
  sorted_by_ = column;
  order_ = order;
  emit layoutAboutToBeChanged({}, VerticalSortHint);
  const QModelIndexList from = persistentIndexList();
  std::vector<StepRef> kept;
  for (const QModelIndex& index : from) kept.push_back(steps_[index.row()]);
  arrange();
  QModelIndexList to;
  for (qsizetype i = 0; i < from.size(); ++i) to << index(row_of_step(kept[i]), from[i].column());
  changePersistentIndexList(from, to);
  emit layoutChanged({}, VerticalSortHint);
}

void CollectivesModel::arrange() {
  if (!plan_) return;
  std::ranges::sort(steps_);
  const auto order_by = [this](const auto& key_of) {
    using Key = std::decay_t<decltype(key_of(StepRef()))>;
    std::vector<std::pair<Key, StepRef>> keyed;
    keyed.reserve(steps_.size());
    for (const StepRef id : steps_) keyed.emplace_back(key_of(id), id);
    const auto key = &std::pair<Key, StepRef>::first;
    order_ == Qt::AscendingOrder ? std::ranges::stable_sort(keyed, std::ranges::less(), key)
                                 : std::ranges::stable_sort(keyed, std::ranges::greater(), key);
    std::ranges::transform(keyed, steps_.begin(), &std::pair<Key, StepRef>::second);
  };
  if (sorted_by_ == phase_column) {
    if (order_ == Qt::DescendingOrder) std::ranges::reverse(steps_);
  } else if ((sorted_by_ >= payload_column && sorted_by_ <= measured_column) || sorted_by_ == stage_column) {
    order_by([this](StepRef id) { return number(id, sorted_by_).toDouble(); });
  } else {
    order_by([this](StepRef id) { return text(id, sorted_by_); });
  }
}

int CollectivesModel::rowCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(steps_.size());
}

int CollectivesModel::columnCount(const QModelIndex&) const { return columns; }

QVariant CollectivesModel::number(StepRef id, int column) const {
  if (column == payload_column) return double(step(id).payload_bytes);
  if (column == wire_column) return step(id).wire_bytes;
  if (column == stage_column) return stage_of(*plan_, id);
  if (column == predicted_column) return plan_->step_seconds[id];
  if (column != measured_column) return {};
  const std::optional<double> seconds = workspace_.measured_seconds(id);
  return seconds ? QVariant(*seconds) : QVariant();
}

QVariant CollectivesModel::data(const QModelIndex& index, int role) const {
  if (!index.isValid()) return {};
  const StepRef id = steps_[index.row()];
  const int column = index.column();
  const Step& step = this->step(id);
  switch (role) {
    case step_role: return QVariant::fromValue(id);
    case Qt::TextAlignmentRole:
      if (column >= payload_column && column <= measured_column) return QVariant(Qt::AlignRight | Qt::AlignVCenter);
      return {};
    case Qt::ForegroundRole:
      return column == phase_column || column == predicted_column ? QVariant(theme().muted) : QVariant();
    case Qt::DecorationRole: return column == kind_column ? QVariant(kind_mark(step.kind)) : QVariant();
    case Qt::ToolTipRole: return exact_text(index.row(), column);
    case Qt::DisplayRole: return text(id, column);
    default: return {};
  }
}

QString CollectivesModel::text(StepRef id, int column) const {
  const Step& step = this->step(id);
  switch (column) {
    case kind_column: return qt(name(step.kind));
    case stage_column: return QString::number(stage_of(*plan_, id));
    case axes_column:
      if (is_transfer(step.kind)) return qt(plan_->mesh.axes()[*plan_->pipeline.axis].name);
      return axes_text(plan_->mesh, step.axes) + across_hosts(*plan_, step);
    case payload_column: return qt(bytes_text(double(step.payload_bytes)));
    case wire_column: return qt(bytes_text(step.wire_bytes));
    case phase_column: return qt(name(step.phase));
    case predicted_column: return qt(seconds_text(plan_->step_seconds[id]));
    case measured_column: {
      const std::optional<double> seconds = workspace_.measured_seconds(id);
      return seconds ? qt(seconds_text(*seconds)) : QString("\u2013");
    }
    case op_column: return op_text(*plan_, step);
    default: return cause_text(id);
  }
}

QString CollectivesModel::cause_text(StepRef id) const {
  QString& text = causes_[id];
  if (text.isNull()) text = short_cause(qt(plan_->cause(step(id)))) + "";
  return text;
}

QString CollectivesModel::exact_text(int row, int column) const {
  const Step& step = this->step(steps_[row]);
  const QVariant value = number(steps_[row], column);
  if (column == axes_column && !is_transfer(step.kind))
    return tr("%1 (groups of %2)").arg(axes_text(plan_->mesh, step.axes)).arg(step.group_size);
  if (column == payload_column || column == wire_column) return qt(exact_bytes(value.toDouble()));
  if (column == predicted_column || column == measured_column)
    return value.isValid() ? QString::number(value.toDouble() * 1e3, 'f', 4) + " ms" : QString();
  if (column == cause_column) return qt(plan_->cause(step));
  return data(index(row, column), Qt::DisplayRole).toString();
}

QVariant CollectivesModel::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation != Qt::Horizontal) return {};
  static const std::array<std::pair<const char*, const char*>, columns> titles{
      {{QT_TR_NOOP("Collective"),
        QT_TR_NOOP("What the devices of a group do together: gather, sum or exchange parts of an array.")},
       {QT_TR_NOOP("Mesh axes"), QT_TR_NOOP("The mesh axes along which the group lies.")},
       {QT_TR_NOOP("Payload"), QT_TR_NOOP("Bytes of the full array that is gathered, summed or exchanged.")},
       {QT_TR_NOOP("Sent"), QT_TR_NOOP("Wire bytes: what each device sends, by the ring convention.")},
       {QT_TR_NOOP("Predicted"), QT_TR_NOOP("Time that the cost model expects.")},
       {QT_TR_NOOP("Measured"), QT_TR_NOOP("Mean time on the ranks of the last run of this plan.")},
       {QT_TR_NOOP("Phase"), QT_TR_NOOP("Forward pass, backward pass or weight update. Sorts by program order.")},
       {QT_TR_NOOP("Stage"), QT_TR_NOOP("The stage of the pipeline whose devices take part.")},
       {QT_TR_NOOP("Op"), QT_TR_NOOP("The operation that needs it.")},
       {QT_TR_NOOP("Cause"), QT_TR_NOOP("The two shardings that meet there.")}}};
  if (role == Qt::DisplayRole) return tr(titles[section].first);
  if (role == Qt::ToolTipRole) return tr(titles[section].second);
  if (role == Qt::TextAlignmentRole && section >= payload_column && section <= measured_column)
    return QVariant(Qt::AlignRight | Qt::AlignVCenter);
  if (role == Qt::TextAlignmentRole) return QVariant(Qt::AlignLeft | Qt::AlignVCenter);
  return {};
}

int CollectivesModel::row_of_step(std::optional<StepRef> step) const {
  const auto found = step ? std::ranges::find(steps_, *step) : steps_.end();
  return found == steps_.end() ? -1 : static_cast<int>(found - steps_.begin());
}

QString CollectivesModel::totals_text() const {
  if (!plan_) return {};
  double payload = 0, wire = 0, predicted = 0, measured = 0;
  bool has_measured = false;
  for (const StepRef id : steps_) {
    payload += double(step(id).payload_bytes);
    wire += step(id).wire_bytes;
    predicted += plan_->step_seconds[id];
    const QVariant value = number(id, measured_column);
    has_measured |= value.isValid();
    measured += value.toDouble();
  }
  QString text = tr("Total: %1 collectives").arg(steps_.size());
  const QString sent =
      plan_->program.stages > 1 ? tr("sent by one device of each stage, together,") : tr("sent by each device");
  text += tr("   |   payload %1   |   %2 %3   |   predicted %4")
              .arg(qt(bytes_text(payload)), sent, qt(bytes_text(wire)), qt(seconds_text(predicted)));
  if (has_measured) text += tr("   |   measured %1").arg(qt(seconds_text(measured)));
  return text;
}

}  // namespace shardscope
