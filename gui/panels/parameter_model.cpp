#include "gui/panels/parameter_model.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <tuple>

#include "gui/document/edits.h"
#include "gui/document/faults.h"
#include "gui/document/spec_text.h"
#include "gui/document/text.h"
#include "gui/look/appearance.h"
#include "gui/planning/disposal.h"
#include "viz/paint/units.h"

namespace shardscope {
namespace {

constexpr size_t most_shown = 400;  // more rows than any screen has

}  // namespace

ParameterModel::ParameterModel(Workspace& workspace, QObject* parent)
    : QAbstractItemModel(parent), workspace_(workspace), root_(std::make_unique<Node>()) {
  connect(&workspace.planner, &Planner::delivered, this, &ParameterModel::refresh);
  connect(&workspace.document, &Document::configChanged, this, &ParameterModel::refresh);
  rebuild();
}

void ParameterModel::set_shows_state(bool shows) {
  shows_state_ = shows;
  rebuild();
}

void ParameterModel::set_filter(const QString& text) {
  filter_ = text;
  rebuild();
}

bool ParameterModel::has_same_arrays() const {
  const bool has_state = shows_state_ && workspace_.planner.plan();
  return has_state == has_state_ && arrays_ == workspace_.planner.model();
}

void ParameterModel::refresh() {
  take_config();
  if (has_same_arrays()) return announce_changes();
  if (root_->children.empty() || workspace_.planner.parameters().empty()) return rebuild();
  forget_shown();
  const std::unique_ptr<Node> fresh = build();
  merge(*root_, *fresh);
}

void ParameterModel::take_config() {
  if (config_ == workspace_.document.shared_config()) return;
  config_ = workspace_.document.shared_config();
  specs_.emplace(config_->sharding);
}

void ParameterModel::rebuild() {
  take_config();
  beginResetModel();
  forget_shown();
  let_go([old = std::shared_ptr<Node>(std::move(root_))] {});
  root_ = build();
  endResetModel();
}

void ParameterModel::forget_shown() {
  for (Node* node : shown_) node->shown.reset();
  shown_.clear();
}

void ParameterModel::announce_changes() {
  std::vector<Node*> changed;
  for (Node* node : shown_) {
    Row now = look_up(*node);
    if (now == *node->shown) continue;
    node->shown = std::move(now);
    changed.push_back(node);
  }
  for (const Node* node : changed) emit dataChanged(index_of(*node), index_of(*node, columns - 1));
}

// Children that both have stay, with the rows that views point to; what lies between those at the front and those at
// the back goes and comes.
void ParameterModel::merge(Node& mine, Node& fresh) {
  auto& old = mine.children;
  auto& now = fresh.children;
  const auto same = [](const auto& a, const auto& b) { return a->segment == b->segment && a->array == b->array; };
  const size_t most = std::min(old.size(), now.size());
  size_t front = 0, back = 0;
  while (front < most && same(old[front], now[front])) ++front;
  while (back < most - front && same(old[old.size() - 1 - back], now[now.size() - 1 - back])) ++back;
  for (size_t i = 0; i < front; ++i) merge(*old[i], *now[i]);
  for (size_t i = 0; i < back; ++i) merge(*old[old.size() - 1 - i], *now[now.size() - 1 - i]);
  const QModelIndex at = &mine == root_.get() ? QModelIndex() : index_of(mine);
  const auto row = [](size_t number) { return static_cast<int>(number); };
  const auto renumber = [&] {
    for (size_t i = front; i < old.size(); ++i) old[i]->row = row(i);
  };
  if (old.size() > front + back) {
    beginRemoveRows(at, row(front), row(old.size() - back) - 1);
    old.erase(old.begin() + row(front), old.end() - row(back));
    renumber();
    endRemoveRows();
  }
  if (now.size() > front + back) {
    beginInsertRows(at, row(front), row(now.size() - back) - 1);
    for (size_t i = front; i < now.size() - back; ++i) now[i]->parent = &mine;
    old.insert(old.begin() + row(front), std::make_move_iterator(now.begin() + row(front)),
               std::make_move_iterator(now.end() - row(back)));
    renumber();
    endInsertRows();
  }
}

ParameterModel::Node* ParameterModel::add(Node& parent, const QString& segment, const ArrayRef& array) {
  auto node = std::make_unique<Node>();
  node->segment = segment;
  node->array = array;
  node->parent = &parent;
  node->row = static_cast<int>(parent.children.size());
  parent.children.push_back(std::move(node));
  ++count_;
  return parent.children.back().get();
}

std::unique_ptr<ParameterModel::Node> ParameterModel::build() {
  const Planner& planner = workspace_.planner;
  auto root = std::make_unique<Node>();
  count_ = 0;
  has_state_ = shows_state_ && planner.plan();
  arrays_ = planner.model();
  if (arrays_->parameters.empty()) return root;
  const auto is_wanted = [this](const ArrayRef& array) {
    return filter_.isEmpty() || name_of(array).contains(filter_, Qt::CaseInsensitive);
  };
  std::map<std::pair<const Node*, std::string>, Node*> groups;
  for (const ArrayRef& end : {ArrayRef(InputRef{}), ArrayRef(OutputRef{})})
    if (is_wanted(end)) add(*root, title_of(end), end);
  for (const auto& [path, type] : arrays_->parameters) {
    const ArrayRef array = ParameterRef{path};
    if (!is_wanted(array)) continue;
    Node* at = root.get();
    const size_t first = path.size() > 1 && path.front() == "params" ? 1 : 0;
    for (size_t i = first; i + 1 < path.size(); ++i) {
      Node*& group = groups[{at, path[i]}];
      if (!group) group = add(*at, qt(path[i]), {});
      at = group;
    }
    Node* leaf = add(*at, qt(path.back()), array);
    const ParameterPlan* planned = has_state_ ? planner.find_planned(path) : nullptr;
    if (!planned) continue;
    for (const std::string& state : planned->state_names) add(*leaf, qt(state), StateRef{state, path});
  }
  return root;
}

std::pair<int64_t, int64_t> ParameterModel::bytes_of(const Node& group) const {
  std::pair<int64_t, int64_t> sum;
  for (const auto& child : group.children) {
    std::pair<int64_t, int64_t> part;
    if (const auto* parameter = std::get_if<ParameterRef>(&child->array)) {
      if (const ParameterInfo* info = workspace_.planner.find_parameter(parameter->path))
        part.first = info->type.bytes();
      if (const ParameterPlan* planned = workspace_.planner.find_planned(parameter->path))
        part.second = workspace_.planner.plan()->program.values[planned->value].bytes();
    } else if (!is_array(child->array)) {
      part = bytes_of(*child);
    }
    sum.first += part.first;
    sum.second += part.second;
  }
  return sum;
}

ParameterModel::Row ParameterModel::look_up(const Node& node) const {
  Row row;
  if (!is_array(node.array)) {
    std::tie(row.total_bytes, row.device_bytes) = bytes_of(node);
    return row;
  }
  if (std::optional<ArrayFacts> facts = array_facts(workspace_, *specs_, node.array)) row.facts = std::move(*facts);
  const ArrayFacts& facts = row.facts;
  const std::shared_ptr<const Plan> plan = workspace_.planner.plan();
  row.total_bytes = TensorType{facts.shape, facts.dtype}.bytes();
  if (plan && facts.sharding)
    row.device_bytes = element_count(local_shape(*facts.sharding, plan->mesh, facts.shape)) * byte_size(facts.dtype);
  if (!workspace_.planner.errors().empty())
    row.errors = errors_text(errors_at(workspace_.planner.errors(), place_of(node.array)));
  return row;
}

const ParameterModel::Row& ParameterModel::shown(const QModelIndex& index) const {
  Node& node = node_of(index);
  if (!node.shown) {
    node.shown = look_up(node);
    shown_.push_back(&node);
    if (shown_.size() > most_shown) {
      shown_.front()->shown.reset();
      shown_.pop_front();
    }
  }
  return *node.shown;
}

ParameterModel::Node& ParameterModel::node_of(const QModelIndex& index) const {
  return index.isValid() ? *static_cast<Node*>(index.internalPointer()) : *root_;
}

QModelIndex ParameterModel::index_of(const Node& node, int column) const {
  return createIndex(node.row, column, &node);
}

const ParameterModel::Node* ParameterModel::find(const Node& node, const ArrayRef& array) const {
  if (is_array(array) && node.array == array) return &node;
  for (const auto& child : node.children)
    if (const Node* found = find(*child, array)) return found;
  return nullptr;
}

QModelIndex ParameterModel::index_of(const ArrayRef& array) const {
  const Node* node = find(*root_, array);
  return node ? index_of(*node) : QModelIndex();
}

std::vector<ArrayRef> ParameterModel::arrays_of(const QModelIndex& index) const {
  std::vector<ArrayRef> arrays;
  const auto add = [&](const auto& self, const Node& node) -> void {
    if (is_array(node.array)) {
      if (has_spec(node.array)) arrays.push_back(node.array);
      return;
    }
    for (const auto& child : node.children) self(self, *child);
  };
  if (index.isValid()) add(add, node_of(index));
  return arrays;
}

QModelIndex ParameterModel::index(int row, int column, const QModelIndex& parent) const {
  const Node& node = node_of(parent);
  if (row < 0 || row >= static_cast<int>(node.children.size()) || column < 0 || column >= columns) return {};
  return createIndex(row, column, node.children[row].get());
}

QModelIndex ParameterModel::parent(const QModelIndex& child) const {
  if (!child.isValid()) return {};
  const Node* parent = node_of(child).parent;
  return !parent || parent == root_.get() ? QModelIndex() : index_of(*parent);
}

int ParameterModel::rowCount(const QModelIndex& parent) const {
  return parent.column() > 0 ? 0 : static_cast<int>(node_of(parent).children.size());
}

int ParameterModel::columnCount(const QModelIndex&) const { return columns; }

QVariant ParameterModel::text(const Node& node, const Row& row, int column) const {
  const bool has_plan = workspace_.planner.plan() != nullptr;
  if (column == device_bytes_column) return has_plan ? qt(bytes_text(double(row.device_bytes))) : QString();
  if (column == total_bytes_column) return qt(bytes_text(double(row.total_bytes)));
  if (!is_array(node.array)) return {};
  const bool is_known = element_count(row.facts.shape) > 0;
  if (column == shape_column) return is_known ? qt(to_string(row.facts.shape)) : QString();
  if (column == dtype_column) return qt(shardscope::name(row.facts.dtype));
  if (!row.facts.editable) return tr("as parameter");
  return spec_text(row.facts.spec, row.facts.shape.size());
}

QVariant ParameterModel::tip(const Node& node, const Row& row, int column) const {
  if (column == device_bytes_column) return qt(exact_bytes(double(row.device_bytes))) + tr(" on each device");
  if (column == total_bytes_column) return qt(exact_bytes(double(row.total_bytes))) + tr(" in all");
  if (!is_array(node.array) && column == spec_column) return tr("F2: one spec for all arrays below.");
  if (!is_array(node.array)) return {};
  if (column != spec_column) return name_of(node.array);
  if (!row.errors.isEmpty()) return row.errors;
  if (!row.facts.editable) return row.facts.why;
  return spec_text(row.facts.spec, row.facts.shape.size()) + "\n" + row.facts.why;
}

QVariant ParameterModel::data(const QModelIndex& index, int role) const {
  if (!index.isValid()) return {};
  const Node& node = node_of(index);
  const int column = index.column();
  const bool is_bytes = column == device_bytes_column || column == total_bytes_column;
  switch (role) {
    case Qt::DisplayRole: return column == name_column ? QVariant(node.segment) : text(node, shown(index), column);
    case Qt::ToolTipRole: return tip(node, shown(index), column);
    case array_role: return QVariant::fromValue(node.array);
    case Qt::AccessibleTextRole:
      return is_array(node.array) ? QVariant(title_of(node.array) + ", " + text(node, shown(index), column).toString())
                                  : QVariant();
    case Qt::TextAlignmentRole: return is_bytes ? QVariant(Qt::AlignRight | Qt::AlignVCenter) : QVariant();
    case Qt::ForegroundRole:
      if (column == name_column) return {};
      if (column == spec_column && !shown(index).errors.isEmpty()) return theme().error;
      return column == spec_column && shown(index).facts.named ? QVariant() : QVariant(theme().muted);
    default: return {};
  }
}

QVariant ParameterModel::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation != Qt::Horizontal) return {};
  const QString titles[] = {tr("Name"), tr("Shape"), tr("Spec"), tr("Per device"), tr("Total"), tr("Type")};
  const QString tips[] = {tr("The parameter's path in the model."),
                          tr("Sizes of the whole array's dimensions."),
                          tr("For each dimension the mesh axes that split it, as JAX writes it; None: not split."),
                          tr("Bytes that each device stores, replicas included."),
                          tr("Bytes of the whole array, counted once."),
                          tr("Type of one element.")};
  if (role == Qt::DisplayRole) return titles[section];
  if (role == Qt::ToolTipRole) return tips[section];
  if (role == Qt::TextAlignmentRole && (section == device_bytes_column || section == total_bytes_column))
    return QVariant(Qt::AlignRight | Qt::AlignVCenter);
  return {};
}

Qt::ItemFlags ParameterModel::flags(const QModelIndex& index) const {
  if (!index.isValid()) return {};
  Qt::ItemFlags flags = Qt::ItemIsEnabled | Qt::ItemIsSelectable;
  if (index.column() != spec_column) return flags;
  if (!is_array(node_of(index).array)) return flags | Qt::ItemIsEditable;
  if (!has_spec(node_of(index).array)) return flags;
  return shown(index).facts.shape.empty() ? flags : flags | Qt::ItemIsEditable;
}

}  // namespace shardscope
