#include "gui/panels/parameter_model.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <string_view>
#include <tuple>

#include "engine/base/path.h"
#include "engine/base/units.h"
#include "gui/document/edits.h"
#include "gui/document/faults.h"
#include "gui/document/spec_text.h"
#include "gui/document/text.h"
#include "gui/look/appearance.h"
#include "gui/planning/disposal.h"

namespace shardscope {
namespace {

constexpr size_t most_shown = 400;  // more rows than any screen has

}  // namespace

ParameterModel::ParameterModel(Workspace& workspace, QObject* parent)
    : QAbstractItemModel(parent), workspace_(workspace), root_(std::make_unique<Node>()) {
  connect(&workspace.planner, &Planner::delivered, this, &ParameterModel::refresh);
  connect(&workspace.document, &Document::configChanged, this, &ParameterModel::refresh);
  connect(&workspace.findings, &Findings::changed, this, [this] {
    take_findings();
    announce_changes();
  });
  connect(&look(), &Look::changed, this, [this] { mark_ = warning_icon(); });
  mark_ = warning_icon();
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
  const std::shared_ptr<const ModelIndex> before = arrays_;  // until no row is of it any more
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
    *node->shown = std::move(now);
    changed.push_back(node);
  }
  for (const Node* node : changed) emit dataChanged(index_of(*node), index_of(*node, columns - 1));
}

// Children that both have stay, with the rows that views point to; what is between those at the front and those at
// the back goes and comes.
void ParameterModel::merge(Node& mine, Node& fresh) {
  mine.parameter = fresh.parameter;
  mine.part = fresh.part;
  auto& old = mine.children;
  auto& now = fresh.children;
  const auto same = [](const auto& a, const auto& b) { return is_same(*a, *b); };
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

bool ParameterModel::is_same(const Node& a, const Node& b) {
  if (a.kind != b.kind) return false;
  switch (a.kind) {
    case Node::Kind::group: return a.parameter->path[size_t(a.part)] == b.parameter->path[size_t(b.part)];
    case Node::Kind::parameter: return a.parameter->path == b.parameter->path;
    case Node::Kind::state: return a.part == b.part;
    case Node::Kind::input:
    case Node::Kind::output: return true;
  }
  return false;
}

ArrayRef ParameterModel::array_of(const Node& node) const {
  ArrayRef array;
  switch (node.kind) {
    case Node::Kind::group: break;
    case Node::Kind::input: array.emplace<InputRef>(); break;
    case Node::Kind::output: array.emplace<OutputRef>(); break;
    case Node::Kind::parameter: array = ParameterRef{node.parameter->path}; break;
    case Node::Kind::state: array = StateRef{state_names_[size_t(node.part)], node.parameter->path}; break;
  }
  return array;
}

QString ParameterModel::segment_of(const Node& node) const {
  switch (node.kind) {
    case Node::Kind::group:
    case Node::Kind::parameter: return qt(node.parameter->path[size_t(node.part)]);
    case Node::Kind::state: return qt(state_names_[size_t(node.part)]);
    case Node::Kind::input:
    case Node::Kind::output: return title_of(array_of(node));
  }
  return {};
}

ParameterModel::Node* ParameterModel::add(Node& parent, Node::Kind kind, const ParameterInfo* parameter, int part) {
  auto node = std::make_unique<Node>();
  node->kind = kind;
  node->parameter = parameter;
  node->part = part;
  node->parent = &parent;
  node->row = static_cast<int>(parent.children.size());
  parent.children.push_back(std::move(node));
  ++count_;
  return parent.children.back().get();
}

int ParameterModel::state_number(const std::string& name) {
  const auto number = static_cast<size_t>(std::ranges::find(state_names_, name) - state_names_.begin());
  if (number == state_names_.size()) state_names_.push_back(name);
  return static_cast<int>(number);
}

std::unique_ptr<ParameterModel::Node> ParameterModel::build() {
  const Planner& planner = workspace_.planner;
  auto root = std::make_unique<Node>();
  count_ = 0;
  has_state_ = shows_state_ && planner.plan();
  arrays_ = planner.model();
  if (arrays_->parameters.empty()) return root;
  const QStringList words = filter_.split(' ', Qt::SkipEmptyParts);
  const auto is_wanted = [&words](const QString& name) {
    return std::ranges::all_of(words, [&](const QString& word) { return name.contains(word, Qt::CaseInsensitive); });
  };
  std::map<std::pair<const Node*, std::string_view>, Node*> groups;
  if (is_wanted(name_of(InputRef{}))) add(*root, Node::Kind::input, nullptr, 0);
  if (is_wanted(name_of(OutputRef{}))) add(*root, Node::Kind::output, nullptr, 0);
  for (const ParameterInfo& parameter : arrays_->parameters) {
    const std::vector<std::string>& path = parameter.path;
    if (!filter_.isEmpty() && !is_wanted(qt(join_path(path)))) continue;
    Node* at = root.get();
    const size_t last = path.size() - 1;
    for (size_t i = path.size() > 1 && path.front() == "params" ? 1 : 0; i < last; ++i) {
      Node*& group = groups[{at, path[i]}];
      if (!group) group = add(*at, Node::Kind::group, &parameter, static_cast<int>(i));
      at = group;
    }
    Node* leaf = add(*at, Node::Kind::parameter, &parameter, static_cast<int>(last));
    const ParameterPlan* planned = has_state_ ? planner.find_planned(path) : nullptr;
    if (!planned) continue;
    for (const std::string& state : planned->state_names)
      add(*leaf, Node::Kind::state, &parameter, state_number(state));
  }
  return root;
}

// Of each array and group its part of a path; the input and the output are named as no parameter is.
std::string ParameterModel::mark_key(const Node& node) const {
  if (node.kind == Node::Kind::input || node.kind == Node::Kind::output) return name_of(array_of(node)).toStdString();
  if (node.kind == Node::Kind::state) return {};
  const auto& path = node.parameter->path;
  return "/" + join_path({path.begin(), path.begin() + node.part + 1});
}

void ParameterModel::take_findings() {
  marks_.clear();
  const auto mark = [this](const std::string& key, const QString& text) {
    if (QStringList& texts = marks_[key]; !texts.contains(text)) texts << text;
  };
  for (const Finding& finding : workspace_.findings.list()) {
    const QString place = qt(finding.place.path), text = Findings::text_of(finding);
    for (const ArrayRef& array : {ArrayRef(InputRef{}), ArrayRef(OutputRef{})})
      if (is_at(place, place_of(array))) mark(name_of(array).toStdString(), text);
    for (const ParameterRef& parameter : parameters_at(workspace_.planner, place))
      for (size_t parts = 1; parts <= parameter.path.size(); ++parts)
        mark("/" + join_path({parameter.path.begin(), parameter.path.begin() + static_cast<ptrdiff_t>(parts)}), text);
  }
}

std::pair<int64_t, int64_t> ParameterModel::bytes_of(const Node& group) const {
  std::pair<int64_t, int64_t> sum;
  for (const auto& child : group.children) {
    std::pair<int64_t, int64_t> part;
    if (child->kind == Node::Kind::parameter) {
      part.first = child->parameter->type.bytes();
      if (const ParameterPlan* planned = workspace_.planner.find_planned(child->parameter->path))
        part.second = workspace_.planner.plan()->program.values[planned->value].bytes();
    } else if (!child->is_array()) {
      part = bytes_of(*child);
    }
    sum.first += part.first;
    sum.second += part.second;
  }
  return sum;
}

ParameterModel::Row ParameterModel::look_up(const Node& node) const {
  Row row;
  if (const auto marks = marks_.find(mark_key(node)); marks != marks_.end()) row.findings = marks->second.join('\n');
  if (!node.is_array()) {
    std::tie(row.total_bytes, row.device_bytes) = bytes_of(node);
    return row;
  }
  if (std::optional<ArrayFacts> facts = array_facts(workspace_, *specs_, array_of(node))) row.facts = std::move(*facts);
  const ArrayFacts& facts = row.facts;
  const std::shared_ptr<const Plan> plan = workspace_.planner.plan();
  row.total_bytes = TensorType{facts.shape, facts.dtype}.bytes();
  if (plan && facts.sharding)
    row.device_bytes = element_count(local_shape(*facts.sharding, plan->mesh, facts.shape)) * byte_size(facts.dtype);
  if (!workspace_.planner.errors().empty())
    row.errors = errors_text(errors_at(workspace_.planner.errors(), place_of(array_of(node))));
  return row;
}

const ParameterModel::Row& ParameterModel::shown(const QModelIndex& index) const {
  Node& node = node_of(index);
  if (!node.shown) {
    node.shown = std::make_unique<Row>(look_up(node));
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

bool ParameterModel::is_of(const Node& node, const ArrayRef& array) const {
  switch (node.kind) {
    case Node::Kind::group: return false;
    case Node::Kind::input: return std::holds_alternative<InputRef>(array);
    case Node::Kind::output: return std::holds_alternative<OutputRef>(array);
    case Node::Kind::parameter: {
      const auto* parameter = std::get_if<ParameterRef>(&array);
      return parameter && parameter->path == node.parameter->path;
    }
    case Node::Kind::state: {
      const auto* state = std::get_if<StateRef>(&array);
      return state && state->state == state_names_[size_t(node.part)] && state->path == node.parameter->path;
    }
  }
  return false;
}

const ParameterModel::Node* ParameterModel::find(const Node& node, const ArrayRef& array) const {
  if (is_of(node, array)) return &node;
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
    if (node.is_array()) {
      if (node.has_spec()) arrays.push_back(array_of(node));
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
  if (!node.is_array()) return {};
  const bool is_known = element_count(row.facts.shape) > 0;
  if (column == shape_column) return is_known ? qt(to_string(row.facts.shape)) : QString();
  if (column == dtype_column) return qt(shardscope::name(row.facts.dtype));
  if (!row.facts.editable) return tr("as parameter");
  return spec_text(row.facts.spec, row.facts.shape.size());
}

QVariant ParameterModel::tip(const Node& node, const Row& row, int column) const {
  if (column == device_bytes_column) return qt(exact_bytes(double(row.device_bytes))) + tr(" on each device");
  if (column == total_bytes_column) return qt(exact_bytes(double(row.total_bytes))) + tr(" in all");
  if (!row.findings.isEmpty() && (column == name_column || column == spec_column)) {
    Row plain = row;
    plain.findings.clear();
    const QString rest = tip(node, plain, column).toString();
    return rest.isEmpty() ? row.findings : row.findings + "\n\n" + rest;
  }
  if (!node.is_array() && column == spec_column) return tr("F2: one spec for all arrays below.");
  if (!node.is_array()) return {};
  if (column != spec_column) return name_of(array_of(node));
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
    case Qt::DisplayRole: return column == name_column ? QVariant(segment_of(node)) : text(node, shown(index), column);
    case Qt::ToolTipRole: return tip(node, shown(index), column);
    case Qt::DecorationRole:
      if (column != (node.is_array() ? spec_column : name_column)) return {};
      return shown(index).findings.isEmpty() ? QVariant() : QVariant(mark_);
    case array_role: return QVariant::fromValue(array_of(node));
    case Qt::AccessibleTextRole:
      if (!node.is_array()) return {};
      return title_of(array_of(node)) + ", " + text(node, shown(index), column).toString() +
             (shown(index).findings.isEmpty() ? QString() : ", " + shown(index).findings);
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
  if (!node_of(index).is_array()) return flags | Qt::ItemIsEditable;
  if (!node_of(index).has_spec()) return flags;
  return shown(index).facts.shape.empty() ? flags : flags | Qt::ItemIsEditable;
}

}  // namespace shardscope
