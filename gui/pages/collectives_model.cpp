#include "gui/pages/collectives_model.h"

#include <QPixmap>
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "engine/plan/host_groups.h"
#include "gui/document/text.h"
#include "gui/look/appearance.h"
#include "gui/workspace/array_of_value.h"
#include "viz/paint/units.h"

namespace shardscope {

namespace {

constexpr double unknown = std::numeric_limits<double>::quiet_NaN();
const QString nothing(QChar(0x2013));

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

QString over_text(const Plan& plan, const Step& step) {
  if (is_transfer(step.kind)) return qt(plan.mesh.axes()[*plan.pipeline.axis].name);
  return axes_text(plan.mesh, step.axes);
}

// " \u2194 2 hosts", where a group lies on several.
QString across_hosts(const Plan& plan, const Step& step) {
  const int hosts = is_transfer(step.kind) ? 1 : hosts_of_group(plan, step);
  return hosts > 1 ? QString(" \u2194 %1 hosts").arg(hosts) : QString();
}

bool is_time(int column) {
  return column >= CollectivesModel::predicted_column && column <= CollectivesModel::waited_column;
}

}  // namespace

CollectivesModel::CollectivesModel(Workspace& workspace, QObject* parent)
    : QAbstractItemModel(parent), workspace_(workspace) {
  connect(&workspace.planner, &Planner::delivered, this, &CollectivesModel::take_plan);
  connect(&workspace.run, &RunControl::received, this, [this] {
    measure();
    find_longest();
    tell(predicted_column, waited_column);
  });
  take_plan();
}

void CollectivesModel::tell(Column first, Column last) {
  if (rowCount() > 0) emit dataChanged(index(0, first), index(rowCount() - 1, last));
  for (int group = 0; is_grouped() && group < rowCount(); ++group) {
    const QModelIndex above = index(group, 0);
    emit dataChanged(index(0, first, above), index(rowCount(above) - 1, last, above));
  }
}

void CollectivesModel::take_plan() {
  if (plan_ == workspace_.planner.plan()) {
    measure();
    find_longest();
    return tell(kind_column, cause_column);
  }
  beginResetModel();
  plan_ = workspace_.planner.plan();
  layers_.reset();
  if (plan_ && plan_->graph) layers_.emplace(*plan_);
  causes_.clear();
  measure();
  arrange();
  endResetModel();
}

void CollectivesModel::measure() {
  measured_.clear();
  if (plan_ && workspace_.matching_run())
    for (const StepRef id : workspace_.planner.index().collectives)
      if (const std::optional<MeasuredTime> time = workspace_.measured(id)) measured_[id] = *time;
}

void CollectivesModel::find_longest() {
  const auto longest = [this](const std::vector<StepRef>& steps, std::array<double, columns>& lengths) {
    for (int column = wire_column; column <= payload_column; ++column) {
      const double length = sum(steps, column);
      double& most = lengths[static_cast<size_t>(is_time(column) ? predicted_column : column)];
      if (length > most) most = length;
    }
  };
  longest_ = longest_group_ = {};
  for (const Group& group : list_) {
    longest(group.steps, longest_group_);
    for (const StepRef id : group.steps) longest({id}, longest_);
  }
}

void CollectivesModel::group_by(CollectiveGroups groups) {
  beginResetModel();
  grouped_by_ = groups;
  arrange();
  endResetModel();
}

void CollectivesModel::filter(const QString& text) {
  const QStringList words = text.split(' ', Qt::SkipEmptyParts);
  if (words == words_) return;
  beginResetModel();
  words_ = words;
  arrange();
  endResetModel();
}

bool CollectivesModel::is_found(const Step& step) const {
  if (words_.isEmpty()) return true;
  QStringList texts{qt(name(step.kind)), over_text(*plan_, step), op_text(*plan_, step), moved_text(*plan_, step),
                    qt(name(step.phase))};
  for (const int value : step.inputs) texts << value_text(*plan_, plan_->program.values[value].graph_value);
  return std::ranges::all_of(words_, [&](const QString& word) {
    return std::ranges::any_of(texts, [&](const QString& text) { return text.contains(word, Qt::CaseInsensitive); });
  });
}

QString CollectivesModel::title_of(const Step& step) const {
  switch (grouped_by_) {
    case CollectiveGroups::kind: return qt(name(step.kind));
    case CollectiveGroups::axes: return tr("over %1").arg(over_text(*plan_, step));
    case CollectiveGroups::layer: {
      const int layer = layers_ ? layers_->of(step) : -1;
      return layer < 0 ? tr("no layer") : tr("layer %1").arg(layer);
    }
    case CollectiveGroups::array: return value_text(*plan_, moved_value(*plan_, step));
    default: return {};
  }
}

void CollectivesModel::sort(int column, Qt::SortOrder order) {
  sorted_by_ = column;
  order_ = order;
  rearrange();
}

// Rows keep what is said of them: by step, and groups by title.
void CollectivesModel::rearrange() {
  emit layoutAboutToBeChanged({}, VerticalSortHint);
  const QModelIndexList from = persistentIndexList();
  std::vector<std::pair<std::optional<StepRef>, QString>> kept;
  for (const QModelIndex& index : from) {
    const QVariant id = data(index, step_role);
    id.isValid() ? kept.emplace_back(id.value<StepRef>(), QString())
                 : kept.emplace_back(std::nullopt, list_[static_cast<size_t>(index.row())].title);
  }
  arrange();
  QModelIndexList to;
  for (qsizetype i = 0; i < from.size(); ++i) {
    const auto& [id, title] = kept[static_cast<size_t>(i)];
    QModelIndex now = index_of_step(id);
    if (!id) now = index(static_cast<int>(std::ranges::find(list_, title, &Group::title) - list_.begin()), 0);
    to << now.siblingAtColumn(from[i].column());
  }
  changePersistentIndexList(from, to);
  emit layoutChanged({}, VerticalSortHint);
}

void CollectivesModel::arrange() {
  list_.clear();
  if (!plan_) return;
  std::map<QString, size_t> groups;
  if (!is_grouped()) list_.emplace_back();
  for (const StepRef id : workspace_.planner.index().collectives) {
    const Step& step = this->step(id);
    if (!is_found(step)) continue;
    size_t group = 0;
    if (is_grouped()) {
      const QString title = title_of(step);
      group = groups.emplace(title, list_.size()).first->second;
      if (group == list_.size()) list_.push_back({title, {}});
    }
    list_[group].steps.push_back(id);
  }
  const auto sort = [this](auto& list, const auto& key_of) {
    using Item = std::decay_t<decltype(list.front())>;
    using Key = std::decay_t<decltype(key_of(list.front()))>;
    std::vector<std::pair<Key, Item>> keyed;
    keyed.reserve(list.size());
    for (Item& item : list) {
      Key key = key_of(item);
      keyed.emplace_back(std::move(key), std::move(item));
    }
    const auto key = &std::pair<Key, Item>::first;
    order_ == Qt::AscendingOrder ? std::ranges::stable_sort(keyed, std::ranges::less(), key)
                                 : std::ranges::stable_sort(keyed, std::ranges::greater(), key);
    std::ranges::transform(keyed, list.begin(), [](auto& pair) { return std::move(pair.second); });
  };
  const auto order = [](double number) { return std::isnan(number) ? -1 : number; };
  for (Group& group : list_) {
    std::ranges::sort(group.steps);
    if (sorted_by_ == phase_column) {
      if (order_ == Qt::DescendingOrder) std::ranges::reverse(group.steps);
    } else if (is_number(sorted_by_) || sorted_by_ == stage_column) {
      sort(group.steps, [&](StepRef id) { return order(number(id, sorted_by_)); });
    } else {
      sort(group.steps, [&](StepRef id) { return text(id, sorted_by_); });
    }
  }
  if (is_number(sorted_by_)) sort(list_, [&](const Group& group) { return order(sum(group.steps, sorted_by_)); });
  else if (sorted_by_ == kind_column && grouped_by_ != CollectiveGroups::layer)
    sort(list_, [](const Group& group) { return group.title; });
  find_longest();
}

QModelIndex CollectivesModel::index(int row, int column, const QModelIndex& parent) const {
  if (column < 0 || column >= columns || row < 0 || row >= rowCount(parent)) return {};
  return createIndex(row, column, parent.isValid() ? static_cast<quintptr>(parent.row()) + 1 : 0);
}

QModelIndex CollectivesModel::parent(const QModelIndex& child) const {
  if (!child.isValid() || child.internalId() == 0) return {};
  return createIndex(static_cast<int>(child.internalId()) - 1, 0, quintptr{0});
}

int CollectivesModel::rowCount(const QModelIndex& parent) const {
  if (list_.empty() || (parent.isValid() && parent.column() > 0)) return 0;
  if (!parent.isValid()) return static_cast<int>(is_grouped() ? list_.size() : list_.front().steps.size());
  if (!is_grouped() || parent.internalId() != 0) return 0;
  return static_cast<int>(list_[static_cast<size_t>(parent.row())].steps.size());
}

int CollectivesModel::columnCount(const QModelIndex&) const { return columns; }

// Of the group that a row is in.
const std::vector<StepRef>& CollectivesModel::steps_below(const QModelIndex& index) const {
  return list_[index.internalId() == 0 ? 0 : static_cast<size_t>(index.internalId()) - 1].steps;
}

double CollectivesModel::number(StepRef id, int column) const {
  const int runs = this->runs(id);
  switch (column) {
    case payload_column: return double(step(id).payload_bytes) * runs;
    case wire_column: return step(id).wire_bytes * runs;
    case times_column: return runs;
    case stage_column: return stage_of(*plan_, id);
    case predicted_column: return plan_->step_seconds[id] * runs;
    default: break;
  }
  const auto measured = measured_.find(id);
  if (measured == measured_.end()) return unknown;
  return column == measured_column ? measured->second.working : measured->second.waiting;
}

double CollectivesModel::sum(const std::vector<StepRef>& steps, int column) const {
  double all = steps.empty() ? unknown : 0;
  for (const StepRef id : steps) all += number(id, column);
  return all;
}

QString CollectivesModel::number_text(double number, int column) const {
  if (std::isnan(number)) return nothing;
  if (column == times_column) return QString::number(number);
  return qt(is_time(column) ? seconds_text(number) : bytes_text(number));
}

QString CollectivesModel::exact_number_text(double number, int column) const {
  if (std::isnan(number)) return {};
  if (column == times_column) return QString::number(number);
  return is_time(column) ? QString::number(number * 1e3, 'f', 4) + " ms" : qt(exact_bytes(number));
}

QVariant CollectivesModel::group_data(const Group& group, int column, int role) const {
  const auto bar = [&]() -> QVariant {
    const double most = longest_group_[static_cast<size_t>(is_time(column) ? predicted_column : column)];
    const double length = sum(group.steps, column);
    return most > 0 && length > 0 ? QVariant(length / most) : QVariant();
  };
  switch (role) {
    case Qt::DisplayRole:
      if (column == kind_column) return tr("%1  (%2)").arg(group.title).arg(group.steps.size());
      return is_number(column) ? number_text(sum(group.steps, column), column) : QString();
    case Qt::ToolTipRole: return is_number(column) ? exact_number_text(sum(group.steps, column), column) : group.title;
    case Qt::FontRole: {
      QFont font;
      font.setBold(true);
      return font;
    }
    case number_role: return is_number(column) ? QVariant(sum(group.steps, column)) : QVariant();
    case bar_role: return column == times_column ? QVariant() : bar();
    default: return {};
  }
}

QVariant CollectivesModel::data(const QModelIndex& index, int role) const {
  if (!index.isValid()) return {};
  const int column = index.column();
  if (role == Qt::TextAlignmentRole)
    return is_number(column) ? QVariant(Qt::AlignRight | Qt::AlignVCenter) : QVariant();
  if (is_grouped() && index.internalId() == 0) return group_data(list_[static_cast<size_t>(index.row())], column, role);
  const StepRef id = steps_below(index)[static_cast<size_t>(index.row())];
  switch (role) {
    case step_role: return QVariant::fromValue(id);
    case number_role: {
      const double value = is_number(column) ? number(id, column) : unknown;
      return std::isnan(value) ? QVariant() : QVariant(value);
    }
    case bar_role: {
      const double value = is_number(column) && column != times_column ? number(id, column) : unknown;
      const double most = longest_[static_cast<size_t>(is_time(column) ? predicted_column : column)];
      return value > 0 && most > 0 ? QVariant(value / most) : QVariant();
    }
    case Qt::ForegroundRole: return column == phase_column ? QVariant(theme().muted) : QVariant();
    case Qt::DecorationRole: return column == kind_column ? QVariant(kind_mark(step(id).kind)) : QVariant();
    case Qt::ToolTipRole:
      if (column == measured_column || column == waited_column) return waiting_text(id);
      return exact_text(index);
    case Qt::DisplayRole: return text(id, column);
    default: return {};
  }
}

QString CollectivesModel::text(StepRef id, int column) const {
  const Step& step = this->step(id);
  switch (column) {
    case kind_column: return qt(name(step.kind));
    case array_column: return moved_text(*plan_, step);
    case stage_column: return QString::number(stage_of(*plan_, id));
    case axes_column: return over_text(*plan_, step) + across_hosts(*plan_, step);
    case phase_column: return qt(name(step.phase));
    case op_column: return op_text(*plan_, step);
    case cause_column: return cause_text(id);
    default: return number_text(number(id, column), column);
  }
}

QString CollectivesModel::cause_text(StepRef id) const {
  QString& text = causes_[id];
  if (text.isNull()) text = short_cause(qt(plan_->cause(step(id)))) + "";
  return text;
}

// Why an exchange that takes half a millisecond is over after eight.
QString CollectivesModel::waiting_text(StepRef id) const {
  const auto found = measured_.find(id);
  if (found == measured_.end()) return {};
  const MeasuredTime& time = found->second;
  QStringList lines{tr("%1 from a rank's coming to the end: %2 waiting for the others, %3 exchanging; predicted %4")
                        .arg(qt(seconds_text(time.seconds())), qt(seconds_text(time.waiting)),
                             qt(seconds_text(time.working)), qt(seconds_text(number(id, predicted_column))))};
  const RunRecord* run = workspace_.matching_run();
  const TraceMessage* trace = run ? run->trace(TraceChoice::latest) : nullptr;
  const std::optional<int> position = position_of(*plan_, id);
  if (!trace || !position) return lines.join('\n');
  int last = -1;
  int64_t first_ns = 0, last_ns = 0;
  for (const int rank : plan_->devices_of_stage(stage_of(*plan_, id))) {
    if (rank >= std::ssize(trace->ranks) || *position >= std::ssize(trace->ranks[static_cast<size_t>(rank)])) continue;
    const int64_t arrive = trace->ranks[static_cast<size_t>(rank)][static_cast<size_t>(*position)].arrive_ns;
    if (last < 0 || arrive < first_ns) first_ns = arrive;
    if (last < 0 || arrive > last_ns) last_ns = arrive, last = rank;
  }
  if (last >= 0 && last_ns > first_ns)
    lines << tr("in training step %1 rank %2 came last, %3 after the first")
                 .arg(trace->step)
                 .arg(last)
                 .arg(qt(seconds_text(double(last_ns - first_ns) * 1e-9)));
  return lines.join('\n');
}

QString CollectivesModel::exact_text(const QModelIndex& index) const {
  const QVariant id = data(index, step_role);
  const int column = index.column();
  if (!id.isValid()) return data(index, Qt::ToolTipRole).toString();
  const StepRef ref = id.value<StepRef>();
  const Step& step = this->step(ref);
  if (column == axes_column && !is_transfer(step.kind))
    return tr("%1 (groups of %2)").arg(axes_text(plan_->mesh, step.axes)).arg(step.group_size);
  if (column == cause_column) return qt(plan_->cause(step));
  if (!is_number(column)) return text(ref, column);
  const double value = number(ref, column);
  const int times = runs(ref);
  const QString all = exact_number_text(value, column);
  if (times == 1 || column == times_column || std::isnan(value)) return all;
  return tr("%1 microbatches \u00d7 %2 = %3").arg(times).arg(exact_number_text(value / times, column), all);
}

QVariant CollectivesModel::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation != Qt::Horizontal) return {};
  static const std::array<std::pair<const char*, const char*>, columns> titles{
      {{QT_TR_NOOP("Collective"),
        QT_TR_NOOP("What the devices of a group do together: gather, sum or exchange parts of an array.")},
       {QT_TR_NOOP("Array"), QT_TR_NOOP("What is moved. Choosing a row selects it.")},
       {QT_TR_NOOP("Mesh axes"), QT_TR_NOOP("The mesh axes along which the group lies.")},
       {QT_TR_NOOP("Sent"),
        QT_TR_NOOP("Wire bytes: what each device sends in a training step, by the ring convention.")},
       {QT_TR_NOOP("Predicted"), QT_TR_NOOP("Time in a training step that the cost model expects.")},
       {QT_TR_NOOP("Exchanged"),
        QT_TR_NOOP("Measured, mean over the ranks of the last run of this plan: from when all had come to the end.")},
       {QT_TR_NOOP("Waited"),
        QT_TR_NOOP("Measured likewise: from a rank's coming until the last of its group had come. "
                   "The cost model knows no waiting.")},
       {QT_TR_NOOP("Times"), QT_TR_NOOP("How often in a training step: once for each microbatch, or once.")},
       {QT_TR_NOOP("Payload"), QT_TR_NOOP("Bytes of the full array that is gathered, summed or exchanged.")},
       {QT_TR_NOOP("Phase"), QT_TR_NOOP("Forward pass, backward pass or weight update. Sorts by program order.")},
       {QT_TR_NOOP("Stage"), QT_TR_NOOP("The stage of the pipeline whose devices take part.")},
       {QT_TR_NOOP("Op"), QT_TR_NOOP("The operation that needs it.")},
       {QT_TR_NOOP("Cause"), QT_TR_NOOP("The two shardings that meet there.")}}};
  const auto at = static_cast<size_t>(section);
  if (role == Qt::DisplayRole) return tr(titles[at].first);
  if (role == Qt::ToolTipRole) return tr(titles[at].second);
  if (role == Qt::TextAlignmentRole)
    return QVariant((is_number(section) ? Qt::AlignRight : Qt::AlignLeft) | Qt::AlignVCenter);
  return {};
}

QModelIndex CollectivesModel::index_of_step(std::optional<StepRef> step) const {
  for (size_t group = 0; step && group < list_.size(); ++group) {
    const auto found = std::ranges::find(list_[group].steps, *step);
    if (found == list_[group].steps.end()) continue;
    const QModelIndex above = is_grouped() ? index(static_cast<int>(group), 0) : QModelIndex();
    return index(static_cast<int>(found - list_[group].steps.begin()), 0, above);
  }
  return {};
}

ArrayRef CollectivesModel::array_of(StepRef id) const {
  return array_of_value(workspace_.planner, moved_value(*plan_, step(id)));
}

QString CollectivesModel::totals_text() const {
  if (!plan_) return {};
  std::vector<StepRef> steps;
  for (const Group& group : list_) steps.insert(steps.end(), group.steps.begin(), group.steps.end());
  const auto all = [&](int column) { return steps.empty() ? 0 : sum(steps, column); };
  const QString sent =
      plan_->program.stages > 1 ? tr("sent by one device of each stage, together,") : tr("sent by each device");
  QString text = (words_.isEmpty() ? tr("Total: %1 collectives") : tr("Shown: %1 collectives"))
                     .arg(static_cast<qint64>(all(times_column)));
  text += tr("   |   payload %1   |   %2 %3   |   predicted %4")
              .arg(qt(bytes_text(all(payload_column))), sent, qt(bytes_text(all(wire_column))),
                   qt(seconds_text(all(predicted_column))));
  if (!measured_.empty() && !std::isnan(all(measured_column)))
    text += tr("   |   measured %1 exchanging, %2 waiting")
                .arg(qt(seconds_text(all(measured_column))), qt(seconds_text(all(waited_column))));
  return text;
}

}  // namespace shardscope
