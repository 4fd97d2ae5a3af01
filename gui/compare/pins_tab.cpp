#include "gui/compare/pins_tab.h"

#include <QHBoxLayout>
#include <QHeaderView>
#include <QInputDialog>
#include <QMenu>
#include <QVBoxLayout>

#include "gui/compare/factorisations.h"
#include "gui/compare/side_by_side.h"
#include "gui/look/appearance.h"
#include "gui/look/filled_layout.h"
#include "gui/look/name_delegate.h"

namespace shardscope {
namespace {

constexpr int most_rows = 18;  // that are seen of the quantities and settings at once
constexpr int least_rows = 7;  // of them, in a small window

QTableView* table(QAbstractItemModel* model, const QString& name, const QString& accessible, QWidget* parent) {
  auto* made = new QTableView(parent);
  made->setObjectName(name);
  made->setAccessibleName(accessible);
  made->setModel(model);
  set_side_by_side(made);
  return made;
}

}  // namespace

PinsTab::PinsTab(Workspace& workspace, PinnedPlans& pins, QWidget* parent)
    : QWidget(parent),
      workspace_(workspace),
      pins_(pins),
      pin_(new QToolButton(this)),
      layouts_model_(new LayoutsModel(workspace, pins, this)),
      all_(new QCheckBox(tr("All arrays"), this)),
      none_(new EmptyNote(this)) {
  quantities_ = table(new QuantitiesModel(workspace, pins, this), "comparedPlans", tr("Plans side by side"), this);
  layouts_ = table(layouts_model_, "comparedLayouts", tr("Layouts side by side"), this);
  layouts_->setItemDelegateForColumn(0, new NameDelegate(layouts_));
  layouts_->verticalHeader()->hide();
  layouts_->setSelectionBehavior(QAbstractItemView::SelectRows);
  quantities_->setSelectionMode(QAbstractItemView::NoSelection);
  quantities_->setFocusPolicy(Qt::NoFocus);
  pin_->setObjectName("pinShown");
  pin_->setText(tr("Pin this plan"));
  pin_->setToolTip(tr("Keeps the shown plan, to compare it with what you change next (Ctrl+P)."));
  connect(pin_, &QToolButton::clicked, this, [this] { pins_.pin(); });
  all_->setToolTip(tr("Also the arrays that lie alike in all plans."));
  connect(all_, &QCheckBox::toggled, layouts_model_, &LayoutsModel::set_shows_all);
  connect(all_, &QCheckBox::toggled, this, &PinsTab::refresh);

  auto* bar = new QHBoxLayout;
  bar->setContentsMargins(10, 8, 10, 6);
  bar->addWidget(pin_);
  for (int place = 0; place < PinnedPlans::count; ++place) bar->addWidget(buttons_[place] = make_button(place));
  bar->addStretch(1);
  bar->addWidget(all_);
  filled(tight(new QVBoxLayout(this)), {bar, {quantities_, 3}, {layouts_, 2}, {none_, 2}});
  connect(layouts_->selectionModel(), &QItemSelectionModel::currentChanged, this, [this](const QModelIndex& index) {
    if (index.isValid()) workspace_.selection.select_array(index.data(LayoutsModel::array_role).value<ArrayRef>());
  });
  const auto renew = [this] {
    layouts_model_->let_refresh();
    if (isVisible()) refresh();
  };
  connect(&pins, &PinnedPlans::changed, this, renew);
  connect(&workspace.planner, &Planner::delivered, this, renew);
  refresh();
}

QToolButton* PinsTab::make_button(int place) {
  auto* button = new QToolButton(this);
  button->setObjectName(QString("pin") + QChar('A' + place));
  button->setPopupMode(QToolButton::InstantPopup);
  auto* menu = new QMenu(button);
  menu->addAction(tr("&Take this plan"), this, [this, place] { pins_.take(place); });
  menu->addAction(tr("&Rename\u2026"), this, [this, place] { rename(place); });
  menu->addAction(tr("&Let go of it"), this, [this, place] { pins_.unpin(place); });
  button->setMenu(menu);
  return button;
}

void PinsTab::rename(int place) {
  QInputDialog dialog(this);
  dialog.setObjectName("renamePin");
  dialog.setWindowTitle(tr("Name of the plan"));
  dialog.setLabelText(tr("Name; empty: a letter."));
  dialog.setTextValue(pins_.at(place) ? pins_.at(place)->title : QString());
  if (dialog.exec() == QDialog::Accepted) pins_.rename(place, dialog.textValue().trimmed());
}

void PinsTab::showEvent(QShowEvent* event) {
  QWidget::showEvent(event);
  refresh();
}

void PinsTab::resizeEvent(QResizeEvent* event) {
  QWidget::resizeEvent(event);
  fit_quantities();
}

void PinsTab::fit_quantities() {
  const auto height_of = [](int rows) { return (rows + 1) * side_by_side_row_height + 8; };
  const int wanted = height_of(std::min(quantities_->model()->rowCount(), most_rows));
  quantities_->setMinimumHeight(height_of(least_rows));
  quantities_->setMaximumHeight(std::max(height_of(least_rows), std::min(wanted, height() * 3 / 5)));
}

void PinsTab::refresh() {
  layouts_model_->refresh();
  bool any = false;
  for (int place = 0; place < PinnedPlans::count; ++place) {
    const PinnedPlan* pin = pins_.at(place);
    any |= pin != nullptr;
    buttons_[place]->setVisible(pin);
    buttons_[place]->setText(tr("Plan %1").arg(pins_.name(place)));
    if (pin) buttons_[place]->setToolTip(mesh_text(pin->plan->mesh.axes()));
    quantities_->setColumnHidden(1 + place, !pin);
    layouts_->setColumnHidden(2 + place, !pin);
  }
  fit_quantities();
  pin_->setEnabled(workspace_.planner.plan() != nullptr);
  all_->setVisible(any);
  const bool rows = layouts_model_->rowCount() > 0;
  layouts_->setVisible(rows && any);
  none_->setVisible(!rows || !any);
  none_->setText(any ? tr("<b>All arrays lie alike</b><br>in the shown plan and the pinned ones.")
                     : tr("<b>Nothing is pinned</b><br>Pin this plan (Ctrl+P), then change the mesh or a spec: both "
                          "stand here side by side."));
}

}  // namespace shardscope
