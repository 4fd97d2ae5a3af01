#include "gui/pages/flow_page.h"

#include <QButtonGroup>
#include <QHBoxLayout>
#include <QShortcut>
#include <QVBoxLayout>

#include "gui/look/appearance.h"
#include "gui/look/field_guard.h"
#include "gui/look/filled_layout.h"
#include "gui/pages/flow_delegate.h"
#include "gui/pages/stage_box.h"

namespace shardscope {

FlowPage::FlowPage(Workspace& workspace, QWidget* parent)
    : QWidget(parent),
      workspace_(workspace),
      model_(new FlowModel(workspace, this)),
      views_(new QStackedWidget(this)),
      canvas_(new FlowCanvas(workspace)),
      list_(new QListView(this)),
      cause_(new FlowCause(workspace, this)) {
  make_list();
  views_->addWidget(canvas_);
  views_->addWidget(list_);
  filled(tight(new QVBoxLayout(this)), {make_head(), {views_, 1}, cause_});
  connect(&workspace.selection, &Selection::stepChanged, this, &FlowPage::follow_step);
  connect(&workspace.planner, &Planner::delivered, this, &FlowPage::show_state);
  connect(canvas_, &FlowCanvas::changed, this, &FlowPage::show_found);
  connect(canvas_, &FlowCanvas::changed, this, [this] {
    const int node = canvas_->selected();
    cause_->show_steps(canvas_->plan(),
                       node < 0 ? std::vector<StepRef>() : canvas_->graph().nodes[static_cast<size_t>(node)].steps);
  });
  show_list(false);
  show_found();
}

QWidget* FlowPage::make_head() {
  auto* head = new QWidget(this);
  auto* row = new QHBoxLayout(head);
  row->setContentsMargins(10, 6, 10, 6);
  row->setSpacing(8);
  auto* group = new QButtonGroup(head);
  const auto choice = [&](const QString& text, const char* object, const QString& tip, bool list) {
    auto* button = new QToolButton(head);
    button->setText(text);
    button->setObjectName(object);
    button->setToolTip(tip);
    button->setCheckable(true);
    group->addButton(button);
    row->addWidget(button);
    connect(button, &QToolButton::clicked, this, [this, list] { show_list(list); });
    return button;
  };
  as_graph_ =
      choice(tr("Graph"), "flowAsGraph", tr("Instructions as a graph: lanes of layers, layouts on the edges."), false);
  as_list_ = choice(tr("List"), "flowAsList", tr("Instructions of one pass, one a line."), true);
  row->addWidget(new StageBox(workspace_, head));
  fold_ = new QCheckBox(tr("Fold layers"), head);
  fold_->setObjectName("flowFold");
  fold_->setProperty("silent", true);  // in a picture: lanes say their layers
  fold_->setChecked(true);
  fold_->setToolTip(tr("Layers that are alike share a lane, with the times of all of them."));
  connect(fold_, &QCheckBox::toggled, canvas_, &FlowCanvas::set_fold);
  row->addWidget(fold_);
  phase_ = new QComboBox(head);
  phase_->setObjectName("phase");
  guard_field(phase_);
  phase_->addItems({tr("Forward pass"), tr("Backward pass"), tr("Update")});
  phase_->setToolTip(tr("Which part of the training step is shown."));
  connect(phase_, &QComboBox::currentIndexChanged, this, [this](int i) { model_->show_phase(static_cast<Phase>(i)); });
  row->addWidget(phase_);
  only_ = new QCheckBox(tr("Only reshards"), head);
  only_->setToolTip(tr("Reshard: an array is moved from one layout to another because an op needs it so."));
  connect(only_, &QCheckBox::toggled, this, [this](bool on) { model_->set_only_reshards(on); });
  row->addWidget(only_);
  row->addStretch(1);
  found_ = new QLabel(head);
  found_->setObjectName("flowFound");
  found_->setProperty("muted", true);
  row->addWidget(found_);
  search_ = new QLineEdit(head);
  search_->setObjectName("flowSearch");
  search_->setPlaceholderText(tr("Find an instruction or an array  (/)"));
  search_->setToolTip(tr("Words of ops, arrays, collectives or mesh axes. Return: the next one, Shift+Return: back."));
  search_->setAccessibleName(tr("Find in the flow graph"));
  search_->setClearButtonEnabled(true);
  search_->setMaximumWidth(230);
  search_->setMinimumWidth(90);
  connect(search_, &QLineEdit::textChanged, canvas_, &FlowCanvas::search);
  connect(search_, &QLineEdit::returnPressed, this, [this] { canvas_->go_found(1); });
  auto* back = new QShortcut(QKeySequence("Shift+Return"), search_);
  back->setContext(Qt::WidgetShortcut);
  connect(back, &QShortcut::activated, this, [this] { canvas_->go_found(-1); });
  auto* find = new QShortcut(QKeySequence("/"), this);
  find->setContext(Qt::WidgetWithChildrenShortcut);
  connect(find, &QShortcut::activated, search_, [this] {
    show_list(false);
    search_->setFocus(Qt::ShortcutFocusReason);
    search_->selectAll();
  });
  row->addWidget(search_, 2);
  return head;
}

void FlowPage::make_list() {
  list_->setObjectName("flow");
  list_->setAccessibleName(tr("instructions"));
  list_->setModel(model_);
  list_->setItemDelegate(new FlowDelegate(list_));
  list_->setUniformItemSizes(true);
  list_->setMouseTracking(true);
  list_->setFrameShape(QFrame::NoFrame);
  list_->setVerticalScrollMode(QAbstractItemView::ScrollPerPixel);
  connect(list_->selectionModel(), &QItemSelectionModel::currentChanged, this, [this](const QModelIndex& index) {
    if (index.isValid()) workspace_.selection.select_step(index.data(FlowModel::step_role).value<StepRef>());
  });
  connect(list_, &QListView::activated, this, [this](const QModelIndex& index) {
    const auto array = index.data(FlowModel::array_role).value<ArrayRef>();
    if (is_array(array)) workspace_.selection.select_array(array);
  });
}

void FlowPage::show_list(bool list) {
  (list ? as_list_ : as_graph_)->setChecked(true);
  views_->setCurrentIndex(list ? 1 : 0);
  follow_view();
  for (QWidget* of_graph : std::initializer_list<QWidget*>{fold_, search_, found_}) of_graph->setVisible(!list);
  for (QWidget* of_list : std::initializer_list<QWidget*>{phase_, only_}) of_list->setVisible(list);
}

void FlowPage::follow_view() {
  model_->set_shown(isVisible() && views_->currentIndex() == 1);
  follow_step();
}

void FlowPage::showEvent(QShowEvent*) { follow_view(); }

void FlowPage::hideEvent(QHideEvent*) { follow_view(); }

void FlowPage::follow_step() {
  const int row = model_->row_of_step(workspace_.selection.step());
  if (row < 0) {
    list_->selectionModel()->clear();
    return;
  }
  if (list_->currentIndex().row() != row) list_->setCurrentIndex(model_->index(row));
}

void FlowPage::show_found() {
  const int count = canvas_->found_count(), at = canvas_->found_at();
  if (search_->text().isEmpty()) return found_->clear();
  found_->setText(count == 0 ? tr("none") : at < 0 ? tr("%1 found").arg(count) : tr("%1 of %2").arg(at + 1).arg(count));
}

void FlowPage::show_state() { list_->setEnabled(workspace_.planner.is_current() || workspace_.planner.is_busy()); }

}  // namespace shardscope
