#include "gui/panels/parameter_model.h"

#include <algorithm>
#include <map>

#include "gui/document/edits.h"
#include "gui/document/faults.h"
#include "gui/document/text.h"
#include "gui/look/appearance.h"
#include "viz/paint/units.h"

namespace shardscope {
namespace {

QString spec_text(const PartitionSpec& spec, size_t rank) {
  QStringList dims;
  for (size_t d = 0; d < std::max(rank, spec.dims.size()); ++d) {
    const std::vector<std::string> axes = d < spec.dims.size() ? spec.dims[d] : std::vector<std::string>{};
    QStringList names;
    for (const std::string& axis : axes) names << qt(axis);
    dims << (names.isEmpty() ? QString("\u2013") : names.size() == 1 ? names.front() : "(" + names.join(",") + ")");
  }
  return dims.join(", ");
}

}  // namespace

ParameterModel::ParameterModel(Workspace& workspace, QObject* parent)
    : QAbstractItemModel(parent), workspace_(workspace), root_(build()) {
  connect(&workspace.planner, &Planner::delivered, this, &ParameterModel::refresh);
  connect(&workspace.document, &Document::configChanged, this, &ParameterModel::refresh);
}

void ParameterModel::set_shows_state(bool shows) {
  shows_state_ = shows;
  refresh();
}

void ParameterModel::refresh() {
  std::unique_ptr<Node> fresh = build();
  if (!same_tree(*fresh, *root_)) {
    beginResetModel();
    root_ = std::move(fresh);
    endResetModel();
    return;
  }
  // The same tree: only values differ, so the nodes that views point to stay.
  const auto copy = [](const auto& self, Node& to, const Node& from) -> void {
    to.total_bytes = from.total_bytes;
    to.device_bytes = from.device_bytes;
    to.facts = from.facts;
    for (size_t i = 0; i < to.children.size(); ++i) self(self, *to.children[i], *from.children[i]);
  };
  copy(copy, *root_, *fresh);
  const auto announce = [this](const auto& self, const QModelIndex& parent) -> void {
    const int rows = rowCount(parent);
    if (rows == 0) return;
    emit dataChanged(index(0, 0, parent), index(rows - 1, columns - 1, parent));
    for (int row = 0; row < rows; ++row) self(self, index(row, 0, parent));
  };
  announce(announce, {});
}

ParameterModel::Node* ParameterModel::add(Node& parent, const QString& segment, const ParameterSpecs& specs,
                                          const ArrayRef& array) const {
  auto node = std::make_unique<Node>();
  node->segment = segment;
  node->array = array;
  node->parent = &parent;
  node->row = static_cast<int>(parent.children.size());
  if (std::optional<ArrayFacts> facts = array_facts(workspace_, specs, array)) node->facts = std::move(*facts);
  parent.children.push_back(std::move(node));
  return parent.children.back().get();
}

std::unique_ptr<ParameterModel::Node> ParameterModel::build() const {
  auto root = std::make_unique<Node>();
  if (workspace_.planner.parameters().empty()) return root;
  const ParameterSpecs specs(workspace_.document.config().sharding);
  std::map<std::pair<const Node*, std::string>, Node*> groups;
  add(*root, title_of(InputRef{}), specs, InputRef{});
  add(*root, title_of(OutputRef{}), specs, OutputRef{});
  for (const ParameterInfo& info : workspace_.planner.parameters()) {
    Node* at = root.get();
    const size_t first = info.path.size() > 1 && info.path.front() == "params" ? 1 : 0;
    for (size_t i = first; i + 1 < info.path.size(); ++i) {
      Node*& group = groups[{at, info.path[i]}];
      if (!group) group = add(*at, qt(info.path[i]), specs, {});
      at = group;
    }
    Node* leaf = add(*at, qt(info.path.back()), specs, ParameterRef{info.path});
    const ParameterPlan* planned = shows_state_ ? workspace_.planner.find_planned(info.path) : nullptr;
    if (!planned) continue;
    for (const std::string& state : planned->state_names) add(*leaf, qt(state), specs, StateRef{state, info.path});
  }
  for (auto& child : root->children) count(*child);
  return root;
}

void ParameterModel::count(Node& node) const {
  const std::shared_ptr<const Plan> plan = workspace_.planner.plan();
  for (auto& child : node.children) {
    count(*child);
    if (is_array(node.array)) continue;
    node.total_bytes += child->total_bytes;
    node.device_bytes += child->device_bytes;
  }
  if (!is_array(node.array)) return;
  const ArrayFacts& facts = node.facts;
  node.total_bytes = TensorType{facts.shape, facts.dtype}.bytes();
  node.device_bytes = plan && facts.sharding ? element_count(local_shape(*facts.sharding, plan->mesh, facts.shape)) *
                                                   byte_size(facts.dtype)
                                             : 0;
}

bool ParameterModel::same_tree(const Node& a, const Node& b) {
  return a.segment == b.segment && a.array == b.array &&
         std::ranges::equal(a.children, b.children,
                            [](const auto& one, const auto& other) { return same_tree(*one, *other); });
}

const ParameterModel::Node& ParameterModel::node_of(const QModelIndex& index) const {
  return index.isValid() ? *static_cast<const Node*>(index.internalPointer()) : *root_;
}

const ParameterModel::Node* ParameterModel::find(const Node& node, const ArrayRef& array) const {
  if (is_array(array) && node.array == array) return &node;
  for (const auto& child : node.children)
    if (const Node* found = find(*child, array)) return found;
  return nullptr;
}

QModelIndex ParameterModel::index_of(const ArrayRef& array) const {
  const Node* node = find(*root_, array);
  return node ? createIndex(node->row, 0, node) : QModelIndex();
}

QModelIndex ParameterModel::index(int row, int column, const QModelIndex& parent) const {
  const Node& node = node_of(parent);
  if (row < 0 || row >= static_cast<int>(node.children.size()) || column < 0 || column >= columns) return {};
  return createIndex(row, column, node.children[row].get());
}

QModelIndex ParameterModel::parent(const QModelIndex& child) const {
  if (!child.isValid()) return {};
  const Node* parent = node_of(child).parent;
  return !parent || parent == root_.get() ? QModelIndex() : createIndex(parent->row, 0, parent);
}

int ParameterModel::rowCount(const QModelIndex& parent) const {
  return parent.column() > 0 ? 0 : static_cast<int>(node_of(parent).children.size());
}

int ParameterModel::columnCount(const QModelIndex&) const { return columns; }

QVariant ParameterModel::text(const Node& node, int column) const {
  const bool has_plan = workspace_.planner.plan() != nullptr;
  if (column == name_column) return node.segment;
  if (column == device_bytes_column) return has_plan ? qt(bytes_text(double(node.device_bytes))) : QString();
  if (column == total_bytes_column) return qt(bytes_text(double(node.total_bytes)));
  if (!is_array(node.array)) return {};
  const bool is_known = element_count(node.facts.shape) > 0;
  if (column == shape_column) return is_known ? qt(to_string(node.facts.shape)) : QString();
  if (column == dtype_column) return qt(shardscope::name(node.facts.dtype));
  if (!node.facts.editable) return tr("as parameter");
  return spec_text(node.facts.spec, node.facts.shape.size());
}

QVariant ParameterModel::tip(const Node& node, int column) const {
  if (column == device_bytes_column) return qt(exact_bytes(double(node.device_bytes))) + tr(" on each device");
  if (column == total_bytes_column) return qt(exact_bytes(double(node.total_bytes))) + tr(" in all");
  if (!is_array(node.array)) return {};
  if (column == spec_column) {
    const QString errors = errors_text(errors_at(workspace_.planner.errors(), place_of(node.array)));
    if (!errors.isEmpty()) return errors;
    if (!node.facts.editable) return node.facts.why;
    return qt(to_string(node.facts.spec)) + "\n" + node.facts.why;
  }
  return name_of(node.array);
}

QVariant ParameterModel::data(const QModelIndex& index, int role) const {
  if (!index.isValid()) return {};
  const Node& node = node_of(index);
  const int column = index.column();
  const bool faulty = column == spec_column && !errors_at(workspace_.planner.errors(), place_of(node.array)).empty();
  switch (role) {
    case Qt::DisplayRole: return text(node, column);
    case Qt::ToolTipRole: return tip(node, column);
    case array_role: return QVariant::fromValue(node.array);
    case filter_role: return name_of(node.array) + " " + text(node, column).toString();
    case Qt::TextAlignmentRole:
      if (column == device_bytes_column || column == total_bytes_column)
        return QVariant(Qt::AlignRight | Qt::AlignVCenter);
      return {};
    case Qt::ForegroundRole:
      if (faulty) return theme().error;
      if (column != name_column && (column != spec_column || !node.facts.named)) return theme().muted;
      return {};
    default: return {};
  }
}

QVariant ParameterModel::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation != Qt::Horizontal) return {};
  const QString titles[] = {tr("Name"), tr("Shape"), tr("Spec"), tr("Per device"), tr("Total"), tr("Type")};
  const QString tips[] = {tr("The parameter's path in the model."),
                          tr("Sizes of the whole array's dimensions."),
                          tr("For each dimension the mesh axes that split it; a dash means not split."),
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
  const Node& node = node_of(index);
  Qt::ItemFlags flags = Qt::ItemIsEnabled | Qt::ItemIsSelectable;
  if (index.column() == spec_column && node.facts.editable && !node.facts.shape.empty()) flags |= Qt::ItemIsEditable;
  return flags;
}

}  // namespace shardscope
