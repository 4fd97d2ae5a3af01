#include "gui/panels/parameters_panel.h"

#include <QHBoxLayout>
#include <QHeaderView>
#include <QKeyEvent>
#include <QScrollBar>
#include <QSet>
#include <QVBoxLayout>
#include <algorithm>
#include <utility>

#include "engine/base/units.h"
#include "gui/document/edits.h"
#include "gui/document/faults.h"
#include "gui/document/text.h"
#include "gui/look/appearance.h"
#include "gui/look/field_guard.h"
#include "gui/look/filled_layout.h"
#include "gui/look/name_delegate.h"

namespace shardscope {
namespace {

constexpr int narrowest_panel = 220;
constexpr int narrowest_name = 96;
constexpr int most_unfolded = 400;  // rows
constexpr int most_measured = 100;  // rows

}  // namespace

ParametersPanel::ParametersPanel(Workspace& workspace, QWidget* parent)
    : QWidget(parent),
      workspace_(workspace),
      model_(new ParameterModel(workspace, this)),
      filter_(new QLineEdit(this)),
      state_(new QCheckBox(tr("Optimizer state"), this)),
      tree_(new QTreeView(this)),
      delegate_(new SpecDelegate(workspace, tree_)),
      actions_(new SpecActions(workspace, *tree_, [this] { return selected_arrays(); })),
      edit_(new QAction(tr("&Edit spec"), this)),
      type_(new QAction(tr("&Type spec"), this)),
      nothing_(new EmptyNote(tree_->viewport())),
      summary_(new QLabel(this)) {
  filter_->setObjectName("filter");
  state_->setObjectName("showsState");
  filter_->setAccessibleName(tr("Filter by name"));
  filter_->setPlaceholderText(tr("Filter by name"));
  filter_->setClearButtonEnabled(true);
  filter_->setToolTip(
      tr("Shows the arrays whose path contains all of these words (Ctrl+F), such as block_3 kernel. Enter selects the "
         "first, Escape shows all."));
  guard_field(filter_);
  filter_->installEventFilter(this);
  connect(filter_, &QLineEdit::textChanged, this, &ParametersPanel::filter_by);
  state_->setToolTip(
      tr("Optimizer state: what the optimizer remembers of each parameter between steps, such as "
         "Adam's running means."));
  connect(state_, &QCheckBox::toggled, this, [this](bool on) { model_->set_shows_state(on); });

  tree_->setObjectName("parameterTree");
  tree_->setModel(model_);
  tree_->setItemDelegate(new CellDelegate(tree_));
  tree_->setItemDelegateForColumn(ParameterModel::spec_column, delegate_);
  tree_->setItemDelegateForColumn(ParameterModel::name_column, new NameDelegate(tree_));
  tree_->setAccessibleName(tr("Parameters"));
  tree_->setSelectionMode(QAbstractItemView::ExtendedSelection);
  tree_->setContextMenuPolicy(Qt::CustomContextMenu);
  edit_->setShortcut(Qt::Key_F2);
  edit_->setToolTip(tr("One drop-down a dimension."));
  type_->setShortcut(QKeySequence("Shift+F2"));
  type_->setToolTip(tr("The spec as text, P('data', None)."));
  connect(edit_, &QAction::triggered, this, &ParametersPanel::edit_current);
  connect(type_, &QAction::triggered, this, &ParametersPanel::type_spec);
  for (QAction* action : {edit_, type_}) {
    action->setShortcutContext(Qt::WidgetShortcut);
    tree_->addAction(action);
  }
  connect(tree_, &QWidget::customContextMenuRequested, this, &ParametersPanel::show_menu);
  connect(delegate_, &SpecDelegate::dimChosen, this,
          [this](const QModelIndex& index, int dim, const std::vector<std::string>& axes) {
            give_dim(workspace_, edited_with(index), dim, axes);
          });
  connect(delegate_, &SpecDelegate::specTyped, this, [this](const QModelIndex& index, const PartitionSpec& spec) {
    if (const std::vector<ArrayFacts> targets = edited_with(index); !targets.empty())
      give_spec(workspace_, targets, spec);
  });
  tree_->setUniformRowHeights(true);
  tree_->setIndentation(10);
  tree_->setEditTriggers(QAbstractItemView::EditKeyPressed | QAbstractItemView::DoubleClicked |
                         QAbstractItemView::SelectedClicked);
  tree_->setFrameShape(QFrame::NoFrame);
  tree_->header()->setStretchLastSection(false);
  tree_->header()->setMinimumSectionSize(44);
  tree_->header()->setResizeContentsPrecision(0);  // what is seen
  tree_->header()->moveSection(ParameterModel::spec_column, 1);
  tree_->viewport()->installEventFilter(this);
  tree_->installEventFilter(this);
  for (const int column : {ParameterModel::device_bytes_column, ParameterModel::total_bytes_column})
    bytes_width_ = std::max(bytes_width_, tree_->header()->sectionSizeHint(column));
  nothing_->setObjectName("noMatch");
  nothing_->hide();
  connect(tree_->header(), &QHeaderView::sectionResized, this, [this] {
    if (fitting_ || std::exchange(by_hand_, true)) return;
    for (int column = 0; column < ParameterModel::columns; ++column) tree_->setColumnHidden(column, false);
  });
  connect(tree_->selectionModel(), &QItemSelectionModel::selectionChanged, this, &ParametersPanel::take_selection);
  connect(tree_->selectionModel(), &QItemSelectionModel::currentChanged, this, [this](const QModelIndex& index) {
    delegate_->close_unless(index);
    take_selection();
  });
  connect(model_, &QAbstractItemModel::modelReset, this, [this] {
    unfold();
    follow_selection();
    fit_columns();
    actions_->refresh();
  });
  connect(tree_->selectionModel(), &QItemSelectionModel::selectionChanged, actions_, &SpecActions::refresh);
  connect(model_, &QAbstractItemModel::rowsInserted, this, [this](const QModelIndex& parent, int first, int last) {
    fit_columns_later();
    if (model_->count() > most_unfolded) return;
    for (int row = first; row <= last; ++row) tree_->expandRecursively(model_->index(row, 0, parent));
  });
  connect(tree_, &QTreeView::expanded, this, &ParametersPanel::fit_columns_later);
  connect(delegate_, &SpecDelegate::closed, this, &ParametersPanel::fit_columns, Qt::QueuedConnection);
  connect(&workspace.selection, &Selection::arraysChanged, this, &ParametersPanel::follow_selection);
  connect(&workspace.planner, &Planner::delivered, this, &ParametersPanel::show_facts);
  connect(&workspace.planner, &Planner::delivered, this, &ParametersPanel::fit_columns);

  summary_->setFont(small_font());
  summary_->setContentsMargins(8, 3, 8, 4);
  setMinimumWidth(narrowest_panel);
  auto* top = new QHBoxLayout;
  top->setContentsMargins(6, 6, 6, 4);
  top->addWidget(filter_, 1);
  top->addWidget(state_);
  filled(tight(new QVBoxLayout(this)), {top, {tree_, 1}, summary_});
  show_facts();
  actions_->refresh();
}

bool ParametersPanel::eventFilter(QObject* watched, QEvent* event) {
  if (watched == tree_->viewport() && event->type() == QEvent::Resize) {
    nothing_->setGeometry(tree_->viewport()->rect().adjusted(12, 0, -12, 0));
    fit_columns();
  }
  if (event->type() == QEvent::KeyPress) {
    const int key = static_cast<QKeyEvent*>(event)->key();
    if (key == Qt::Key_Escape && !filter_->text().isEmpty() && (watched == filter_ || watched == tree_)) {
      filter_->clear();
      return true;
    }
    const QModelIndex first = first_array();
    if ((key == Qt::Key_Return || key == Qt::Key_Enter) && watched == filter_ && first.isValid()) {
      tree_->setCurrentIndex(first);
      tree_->setFocus(Qt::OtherFocusReason);
      return true;
    }
  }
  return QWidget::eventFilter(watched, event);
}

void ParametersPanel::filter_by(const QString& text) {
  model_->set_filter(text);
  nothing_->setText(tr("No array's name contains \u201c%1\u201d. Escape shows all.").arg(text));
  nothing_->setVisible(!text.isEmpty() && model_->count() == 0);
  if (const QModelIndex first = first_array(); !text.isEmpty() && first.isValid()) {
    tree_->scrollTo(first, QAbstractItemView::PositionAtTop);
    tree_->horizontalScrollBar()->setValue(0);
  }
}

QModelIndex ParametersPanel::first_array() const {
  QModelIndex index = model_->index(0, 0);
  while (index.isValid() && !is_array(index.data(ParameterModel::array_role).value<ArrayRef>()))
    index = model_->index(0, 0, index);
  return index;
}

void ParametersPanel::unfold() {
  if (model_->count() <= most_unfolded) tree_->expandAll();
}

// Of the arrays in the first rows and in those that are seen; names of groups go on over the empty cells behind them.
int ParametersPanel::widest_name() const {
  constexpr int beside_name = 14;
  int widest = narrowest_name;
  const auto measure = [&](const QModelIndex& row) {
    if (!is_array(row.data(ParameterModel::array_role).value<ArrayRef>())) return;
    int depth = 1;
    for (QModelIndex group = row.parent(); group.isValid(); group = group.parent()) ++depth;
    const int name = tree_->fontMetrics().horizontalAdvance(row.data().toString());
    widest = std::max(widest, depth * tree_->indentation() + name + beside_name);
  };
  QModelIndex row = model_->index(0, 0);
  for (int count = 0; row.isValid() && count < most_measured; ++count, row = tree_->indexBelow(row)) measure(row);
  for (row = tree_->indexAt({0, 0}); row.isValid(); row = tree_->indexBelow(row)) {
    if (tree_->visualRect(row).top() > tree_->viewport()->height()) break;
    measure(row);
  }
  return widest;
}

void ParametersPanel::fit_columns() {
  if (by_hand_ || fitting_ || delegate_->is_open()) return;
  fitting_ = true;
  const auto wanted = [this](int column, int least, int most) {
    return std::clamp(static_cast<const QAbstractItemView*>(tree_)->sizeHintForColumn(column) + 2, least, most);
  };
  constexpr int narrowest_spec = 84, widest_spec = 190, type_width = 48;
  const int seen = tree_->viewport()->width(), shape = wanted(ParameterModel::shape_column, 60, 110);
  int spec = wanted(ParameterModel::spec_column, narrowest_spec, widest_spec);
  const int name = widest_name();
  if (spec == widest_spec) spec = std::clamp(seen - name - shape, narrowest_spec, widest_spec);
  spec = std::clamp(seen - narrowest_name, narrowest_spec, spec);
  const int names = std::clamp(seen - spec, narrowest_name, name);
  tree_->setColumnWidth(ParameterModel::name_column, names);
  tree_->setColumnWidth(ParameterModel::spec_column, spec);
  // The others are seen where that cuts no name, and the last one takes what is left.
  int left = seen - spec - names, last = ParameterModel::spec_column;
  bool has_room = true;
  for (const auto& [column, width] : {std::pair(ParameterModel::shape_column, shape),
                                      {ParameterModel::device_bytes_column, bytes_width_},
                                      {ParameterModel::total_bytes_column, bytes_width_},
                                      {ParameterModel::dtype_column, type_width}}) {
    has_room = has_room && left >= width;
    tree_->setColumnHidden(column, !has_room);
    if (!has_room) continue;
    tree_->setColumnWidth(column, width);
    left -= width;
    last = column;
  }
  tree_->setColumnWidth(last, tree_->columnWidth(last) + std::max(0, left));
  fitting_ = false;
}

void ParametersPanel::fit_columns_later() {
  if (std::exchange(fits_later_, true)) return;
  QMetaObject::invokeMethod(
      this,
      [this] {
        fits_later_ = false;
        fit_columns();
      },
      Qt::QueuedConnection);
}

void ParametersPanel::focus_filter() {
  filter_->setFocus(Qt::ShortcutFocusReason);
  filter_->selectAll();
}

bool ParametersPanel::focus_place(const QString& place) {
  std::vector<ArrayRef> arrays{InputRef{}, OutputRef{}};
  for (const ParameterInfo& info : workspace_.planner.parameters()) arrays.push_back(ParameterRef{info.path});
  auto found = std::ranges::find_if(arrays, [&](const ArrayRef& array) { return is_at(place, place_of(array)); });
  if (found == arrays.end() && place.startsWith("sharding.parameters")) {  // a pattern of names
    const std::vector<ParameterRef> decided = parameters_at(workspace_.planner, place);
    arrays.assign(decided.begin(), decided.end());
    found = arrays.begin();
  }
  if (found == arrays.end()) return false;
  workspace_.selection.select_array(*found);
  edit_spec(*found);
  return true;
}

void ParametersPanel::edit_spec(const ArrayRef& array) {
  if (!model_->index_of(array).isValid()) filter_->clear();
  const QModelIndex index = model_->index_of(array);
  if (!index.isValid()) return;
  const QModelIndex spec = index.siblingAtColumn(ParameterModel::spec_column);
  tree_->setFocus(Qt::OtherFocusReason);
  tree_->scrollTo(spec);
  if (spec.flags() & Qt::ItemIsEditable) tree_->edit(spec);
}

void ParametersPanel::edit_current() {
  const QModelIndex current = tree_->currentIndex().siblingAtColumn(ParameterModel::spec_column);
  const bool is_group = current.isValid() && !is_array(current.data(ParameterModel::array_role).value<ArrayRef>());
  is_group ? tree_->edit(current) : edit_spec(workspace_.selection.array());
}

void ParametersPanel::type_spec() {
  const QModelIndex spec = tree_->currentIndex().siblingAtColumn(ParameterModel::spec_column);
  if (!(spec.flags() & Qt::ItemIsEditable)) return;
  delegate_->type_next();
  tree_->edit(spec);
}

std::vector<ArrayRef> ParametersPanel::selected_arrays() const {
  std::vector<ArrayRef> arrays;
  QSet<QString> names;
  for (const QModelIndex& row : tree_->selectionModel()->selectedRows())
    for (const ArrayRef& array : model_->arrays_of(row)) {
      const QString name = name_of(array);
      if (names.contains(name)) continue;
      names << name;
      arrays.push_back(array);
    }
  return arrays;
}

std::vector<ArrayFacts> ParametersPanel::edited_with(const QModelIndex& index) const {
  const bool selected = tree_->selectionModel()->isSelected(index.siblingAtColumn(0));
  return spec_targets(workspace_, selected ? selected_arrays() : model_->arrays_of(index));
}

void ParametersPanel::show_menu(const QPoint& point) {
  QMenu menu(this);
  menu.addActions({edit_, type_});
  menu.addSeparator();
  menu.addActions(actions_->all());
  menu.exec(tree_->viewport()->mapToGlobal(point));
}

void ParametersPanel::follow_selection() {
  if (choosing_) return;
  const Selection& selection = workspace_.selection;
  const QModelIndex current = model_->index_of(selection.array());
  QItemSelection rows;
  for (const ArrayRef& array : selection.arrays())
    if (const QModelIndex index = model_->index_of(array); index.isValid()) rows.select(index, index);
  QItemSelectionModel& chosen = *tree_->selectionModel();
  if (rows.size() == chosen.selectedRows().size() && current.isValid() && chosen.isSelected(current) &&
      tree_->currentIndex().siblingAtColumn(0) == current)
    return;
  choosing_ = true;
  chosen.setCurrentIndex(current, QItemSelectionModel::NoUpdate);
  chosen.select(rows, QItemSelectionModel::ClearAndSelect | QItemSelectionModel::Rows);
  choosing_ = false;
  if (current.isValid()) tree_->scrollTo(current);
  if (selection.arrays().size() > 1) take_selection();  // without those that the filter hides
}

void ParametersPanel::take_selection() {
  if (choosing_) return;
  choosing_ = true;
  const auto current = tree_->currentIndex().siblingAtColumn(0).data(ParameterModel::array_role).value<ArrayRef>();
  std::vector<ArrayRef> arrays = selected_arrays();
  const bool is_one = arrays.empty() || tree_->selectionModel()->selectedRows().size() == 1;
  if (is_array(current) && is_one) workspace_.selection.select_array(current);
  else
    workspace_.selection.select_arrays(std::move(arrays), is_array(current) ? current : workspace_.selection.array());
  choosing_ = false;
}

void ParametersPanel::show_facts() {
  const std::shared_ptr<const ModelIndex> model = workspace_.planner.model();
  const auto [elements, bytes] = std::pair(model->elements, model->bytes);
  const size_t count = model->parameters.size();
  summary_->setText(count == 0
                        ? workspace_.planner.is_busy() ? QString() : tr("No parameters: the model could not be built.")
                        : tr("%1, %2 elements, %3")
                              .arg(counted_text(static_cast<qint64>(count), "array"))
                              .arg(qt(count_text(double(elements))), qt(bytes_text(double(bytes)))));
  summary_->setToolTip(tr("%1 elements, %2").arg(qt(exact_number(elements)), qt(exact_bytes(double(bytes)))));
}

}  // namespace shardscope
