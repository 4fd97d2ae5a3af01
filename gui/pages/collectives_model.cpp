#include "gui/pages/collectives_model.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "engine/base/units.h"
#include "engine/plan/hidden_transfers.h"
#include "gui/document/text.h"
#include "gui/look/appearance.h"
#include "gui/pages/collective_words.h"
#include "gui/workspace/array_of_value.h"

namespace shardscope {

namespace {

constexpr double unknown = std::numeric_limits<double>::quiet_NaN();
const QString nothing(QChar(0x2013));

bool is_time(int column) {
  return column >= CollectivesModel::predicted_column && column <= CollectivesModel::waited_column;
}

}  // namespace

CollectivesModel::CollectivesModel(Workspace& workspace, QObject* parent)
    : QAbstractItemModel(parent), workspace_(workspace) {
  connect(&workspace.planner, &Planner::delivered, this, &CollectivesModel::take_plan);
  connect(&workspace.run, &RunControl::received, this, [this] {
    if (!is_shown_ || !measure()) return;
    find_longest();
    tell(predicted_column, waited_column);
  });
}

void CollectivesModel::set_shown(bool shown) {
  is_shown_ = shown;
  if (shown) take_plan();
}

void CollectivesModel::tell(Column first, Column last) {
  if (rowCount() > 0) emit dataChanged(index(0, first), index(rowCount() - 1, last));
  for (int group = 0; is_grouped() && group < rowCount(); ++group) {
    const QModelIndex above = index(group, 0);
    emit dataChanged(index(0, first, above), index(rowCount(above) - 1, last, above));
  }
}

// Where it is not seen it lets its plan go and takes the newest when it is shown.
void CollectivesModel::take_plan() {
  const std::shared_ptr<const Plan> plan = is_shown_ ? workspace_.planner.plan() : nullptr;
  if (plan_ == plan) {
    if (measure()) find_longest();
    return tell(kind_column, cause_column);
  }
  beginResetModel();
  plan_ = plan;
  index_ = workspace_.planner.shared_index();
  layers_.reset();
  if (plan_ && plan_->graph) layers_.emplace(*plan_);
  step_words_.set_plan(plan_);
  causes_.clear();
  measured_.clear();
  trace_.reset();
  measure();
  arrange();
  endResetModel();
}

// What is measured changes with the newest trace alone. False: it is the same.
bool CollectivesModel::measure() {
  const RunRecord* run = plan_ && plan_ == workspace_.planner.plan() ? workspace_.matching_run() : nullptr;
  std::shared_ptr<const TraceMessage> trace = run ? run->shared_trace(TraceChoice::latest) : nullptr;
  if (trace == trace_) return false;
  trace_ = std::move(trace);
  measured_.clear();
  for (const StepRef id : index_->collectives)
    if (const std::optional<MeasuredTime> time = workspace_.measured(id)) measured_[id] = *time;
  return true;
}

// Of the rows, and of the groups, which it sums up.
void CollectivesModel::find_longest() {
  longest_ = longest_group_ = {};
  for (Group& group : list_) {
    group.sums.fill(group.steps.empty() ? unknown : 0);
    for (int column = wire_column; column <= payload_column; ++column) {
      const auto scale = static_cast<size_t>(is_time(column) ? predicted_column : column);
      double& sum = group.sums[static_cast<size_t>(column)];
      for (const StepRef id : group.steps) {
        const double length = number(id, column);
        sum += length;
        if (length > longest_[scale]) longest_[scale] = length;
      }
      if (sum > longest_group_[scale]) longest_group_[scale] = sum;
    }
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

QString CollectivesModel::title_of(const Instruction& instruction) const {
  switch (grouped_by_) {
    case CollectiveGroups::kind: return qt(name(instruction.kind()));
    case CollectiveGroups::axes: return tr("over %1").arg(over_text(*plan_, instruction));
    case CollectiveGroups::layer: {
      const int layer = layers_ ? layers_->of(instruction) : -1;
      return layer < 0 ? tr("no layer") : tr("layer %1").arg(layer);
    }
    case CollectiveGroups::array: return value_text(*plan_, moved_value(*plan_, instruction));
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
  place_of_.clear();
  if (!plan_) return;
  std::map<QString, size_t> groups;
  if (!is_grouped()) list_.emplace_back();
  for (const StepRef id : index_->collectives) {
    const Instruction& instruction = this->instruction(id);
    if (!words_.isEmpty() && !step_words_.has(id, words_)) continue;
    size_t group = 0;
    if (is_grouped()) {
      const QString title = title_of(instruction);
      group = groups.emplace(title, list_.size()).first->second;
      if (group == list_.size()) list_.push_back({title, {}, {}});
    }
    list_[group].steps.push_back(id);
  }
  find_longest();
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
  if (is_number(sorted_by_))
    sort(list_, [&](const Group& group) { return order(group.sums[static_cast<size_t>(sorted_by_)]); });
  else if (sorted_by_ == kind_column && grouped_by_ != CollectiveGroups::layer)
    sort(list_, [](const Group& group) { return group.title; });
  for (int group = 0; group < std::ssize(list_); ++group)
    for (int row = 0; row < std::ssize(list_[static_cast<size_t>(group)].steps); ++row)
      place_of_[list_[static_cast<size_t>(group)].steps[static_cast<size_t>(row)]] = {group, row};
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
    case payload_column: return double(instruction(id).payload_bytes()) * runs;
    case wire_column: return instruction(id).wire_bytes() * runs;
    case times_column: return runs;
    case stage_column: return stage_of(*plan_, id);
    case predicted_column: return (plan_->instruction_seconds[id] + hidden_behind_passes(*plan_, id)) * runs;
    default: break;
  }
  const auto measured = measured_.find(id);
  if (measured == measured_.end()) return unknown;
  return column == measured_column ? measured->second.working : measured->second.waiting;
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
    const double length = group.sums[static_cast<size_t>(column)];
    return most > 0 && length > 0 ? QVariant(length / most) : QVariant();
  };
  switch (role) {
    case Qt::DisplayRole:
      if (column == kind_column) return tr("%1  (%2)").arg(group.title).arg(group.steps.size());
      return is_number(column) ? number_text(group.sums[static_cast<size_t>(column)], column) : QString();
    case Qt::ToolTipRole:
      return is_number(column) ? exact_number_text(group.sums[static_cast<size_t>(column)], column) : group.title;
    case Qt::FontRole: {
      QFont font;
      font.setBold(true);
      return font;
    }
    case number_role: return is_number(column) ? QVariant(group.sums[static_cast<size_t>(column)]) : QVariant();
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
    case Qt::DecorationRole:
      return column == kind_column ? QVariant(color_mark(instruction_color(instruction(id).kind(), theme())))
                                   : QVariant();
    case Qt::ToolTipRole:
      if (const auto measured = measured_.find(id); column == measured_column || column == waited_column)
        return measured == measured_.end()
                   ? QString()
                   : waiting_text(*plan_, trace_.get(), id, measured->second, number(id, predicted_column));
      return exact_text(index);
    case Qt::DisplayRole: return text(id, column);
    default: return {};
  }
}

QString CollectivesModel::text(StepRef id, int column) const {
  const Instruction& instruction = this->instruction(id);
  switch (column) {
    case kind_column: return qt(name(instruction.kind()));
    case array_column: return moved_text(*plan_, instruction);
    case stage_column: return QString::number(stage_of(*plan_, id));
    case axes_column: return over_text(*plan_, instruction) + across_hosts(*plan_, instruction);
    case phase_column: return qt(name(instruction.phase));
    case op_column: return op_title(*plan_, instruction);
    case cause_column: return cause_text(id);
    default: return number_text(number(id, column), column);
  }
}

QString CollectivesModel::cause_text(StepRef id) const {
  QString& text = causes_[id];
  if (text.isNull()) text = short_cause(qt(plan_->cause(instruction(id)))) + "";
  return text;
}

QString CollectivesModel::exact_text(const QModelIndex& index) const {
  const QVariant id = data(index, step_role);
  const int column = index.column();
  if (!id.isValid()) return data(index, Qt::ToolTipRole).toString();
  const StepRef ref = id.value<StepRef>();
  const Instruction& instruction = this->instruction(ref);
  if (column == axes_column && !is_transfer(instruction.kind()))
    return tr("%1 (groups of %2)").arg(axes_text(plan_->mesh, instruction.axes())).arg(instruction.group_size());
  if (column == cause_column) return qt(plan_->cause(instruction));
  if (!is_number(column)) return text(ref, column);
  const double value = number(ref, column);
  const int times = runs(ref);
  const QString all = exact_number_text(value, column);
  if (times == 1 || column == times_column || std::isnan(value)) return all;
  return tr("%1 microbatches \u00d7 %2 = %3").arg(times).arg(exact_number_text(value / times, column), all);
}

QVariant CollectivesModel::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation != Qt::Horizontal) return {};
  if (role == Qt::DisplayRole) return column_title(section);
  if (role == Qt::ToolTipRole) return column_tip(section);
  if (role == Qt::TextAlignmentRole)
    return QVariant((is_number(section) ? Qt::AlignRight : Qt::AlignLeft) | Qt::AlignVCenter);
  return {};
}

QModelIndex CollectivesModel::index_of_step(std::optional<StepRef> step) const {
  const auto found = step ? place_of_.find(*step) : place_of_.end();
  if (found == place_of_.end()) return {};
  const auto [group, row] = found->second;
  return index(row, 0, is_grouped() ? index(group, 0) : QModelIndex());
}

ArrayRef CollectivesModel::array_of(StepRef id) const {
  return array_of_value(workspace_.planner, *plan_, moved_value(*plan_, instruction(id)));
}

QString CollectivesModel::totals_text() const {
  if (!plan_) return {};
  const auto all = [&](int column) {
    double sum = 0;
    for (const Group& group : list_)
      if (!group.steps.empty()) sum += group.sums[static_cast<size_t>(column)];
    return sum;
  };
  const QString sent =
      plan_->program.stages > 1 ? tr("sent by one device of each stage, together,") : tr("sent by each device");
  QString text = (words_.isEmpty() ? tr("Total: %1") : tr("Shown: %1"))
                     .arg(counted_text(static_cast<qint64>(all(times_column)), "collective"));
  text += tr("   |   payload %1   |   %2 %3   |   predicted %4")
              .arg(qt(bytes_text(all(payload_column))), sent, qt(bytes_text(all(wire_column))),
                   qt(seconds_text(all(predicted_column))));
  if (!measured_.empty() && !std::isnan(all(measured_column)))
    text += tr("   |   measured %1 exchanging, %2 waiting")
                .arg(qt(seconds_text(all(measured_column))), qt(seconds_text(all(waited_column))));
  return text;
}

}  // namespace shardscope
