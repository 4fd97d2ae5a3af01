#include "gui/pages/memory_page.h"

#include <QButtonGroup>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QVBoxLayout>
#include <algorithm>

#include "gui/look/appearance.h"
#include "gui/look/in_picture.h"
#include "gui/look/name_delegate.h"
#include "gui/look/row_table.h"
#include "gui/pages/memory_ways_out.h"
#include "gui/pages/stage_box.h"

namespace shardscope {
namespace {

constexpr int wide = 900;     // from here on the buffers stand beside the curve,
constexpr int stacked = 300;  // and where both are not higher than this

}  // namespace

MemoryPage::MemoryPage(Workspace& workspace, QWidget* parent)
    : QWidget(parent),
      workspace_(workspace),
      bars_(new MemoryBars(workspace)),
      legend_(new MemoryLegend(workspace)),
      area_(new QScrollArea(this)),
      splitter_(new QSplitter(Qt::Vertical, this)),
      views_(new QStackedWidget(this)),
      use_(new QSplitter(Qt::Vertical, this)),
      curve_(new MemoryCurveView(workspace)),
      buffers_(new QTableView(this)) {
  area_->setWidgetResizable(true);
  area_->setFrameShape(QFrame::NoFrame);
  area_->setWidget(bars_);
  auto* upper = new QWidget(splitter_);
  auto* stack = new QVBoxLayout(upper);
  stack->setContentsMargins(0, 0, 0, 0);
  stack->setSpacing(0);
  stack->addWidget(area_, 1);
  stack->addWidget(legend_);
  auto* lower = new QWidget(splitter_);
  auto* below = new QVBoxLayout(lower);
  below->setContentsMargins(0, 0, 0, 0);
  below->setSpacing(0);
  head_ = make_head(workspace);
  auto* ways_out = new MemoryWaysOut(workspace);
  connect(ways_out, &MemoryWaysOut::searchWanted, this, &MemoryPage::searchWanted);
  below->addWidget(ways_out);
  below->addWidget(head_);
  below->addWidget(views_, 1);
  make_buffers(workspace);
  use_->addWidget(curve_);
  use_->addWidget(buffers_);
  for (const int part : {0, 1}) use_->setStretchFactor(part, 1);
  use_->setChildrenCollapsible(false);
  views_->addWidget(use_);
  views_->addWidget(new MemoryLife(workspace));
  splitter_->addWidget(upper);
  splitter_->addWidget(lower);
  splitter_->setStretchFactor(0, 0);
  splitter_->setStretchFactor(1, 1);
  splitter_->setChildrenCollapsible(false);
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->addWidget(splitter_);
  connect(splitter_, &QSplitter::splitterMoved, this, [this] { is_moved_ = true; });
  connect(bars_, &MemoryBars::rowsChanged, this, &MemoryPage::arrange);
  connect(&workspace.planner, &Planner::delivered, this, &MemoryPage::arrange);
  connect(curve_, &MemoryCurveView::changed, this, &MemoryPage::show_position);
  show_position();
}

QWidget* MemoryPage::make_head(Workspace& workspace) {
  auto* head = new QWidget(this);
  auto* row = new QHBoxLayout(head);
  row->setContentsMargins(10, 4, 10, 4);
  auto* group = new QButtonGroup(head);
  const auto choice = [&](const QString& text, const char* object, const QString& tip, bool arena) {
    auto* button = new QToolButton(head);
    button->setText(text);
    button->setObjectName(object);
    button->setToolTip(tip);
    button->setCheckable(true);
    button->setChecked(!arena);
    group->addButton(button);
    row->addWidget(button);
    connect(button, &QToolButton::clicked, this, [this, arena] { show_arena(arena); });
    return button;
  };
  choice(tr("In use"), "memoryInUse", tr("Bytes in use through a training step, and the largest buffers at the peak."),
         false);
  arena_ = choice(tr("Arena"), "memoryArena", tr("Where in the arena each buffer is, and from when to when."), true);
  row->addWidget(new StageBox(workspace, head));
  position_ = new LineLabel(head);
  position_->setObjectName("memoryPosition");
  position_->setProperty("muted", true);
  row->addWidget(position_, 1);
  peak_ = new QToolButton(head);
  peak_->setObjectName("memoryPeak");
  peak_->setText(tr("To the peak"));
  peak_->setToolTip(tr("Show the largest buffers at the instruction where most is in use (P in the curve)."));
  connect(peak_, &QToolButton::clicked, curve_, &MemoryCurveView::show_peak);
  row->addWidget(peak_);
  return head;
}

void MemoryPage::make_buffers(Workspace& workspace) {
  auto* model = new MemoryBuffers(workspace, *curve_, this);
  buffers_->setObjectName("memoryBuffers");
  buffers_->setAccessibleName(tr("The largest buffers in use"));
  buffers_->setModel(model);
  buffers_->setSelectionMode(QAbstractItemView::SingleSelection);
  buffers_->setAlternatingRowColors(true);
  buffers_->setWordWrap(false);
  buffers_->setMinimumHeight(70);
  buffers_->setItemDelegateForColumn(MemoryBuffers::name_column, new NameDelegate(buffers_));
  buffers_->setItemDelegateForColumn(MemoryBuffers::maker_column, new NameDelegate(buffers_));
  set_row_table(*buffers_, 20, {220, 76, 84, 180, 190, 90});
  buffers_->horizontalHeader()->setStretchLastSection(true);
  connect(buffers_->selectionModel(), &QItemSelectionModel::currentRowChanged, this, [this](const QModelIndex& index) {
    if (!index.isValid()) return;
    const auto array = index.data(MemoryBuffers::array_role).value<ArrayRef>();
    if (is_array(array)) workspace_.selection.select_array(array);
    const QVariant step = index.data(MemoryBuffers::step_role);
    if (step.isValid()) workspace_.selection.select_step(step.value<StepRef>());
  });
}

void MemoryPage::show_arena(bool arena) {
  arena_->setChecked(arena);
  views_->setCurrentIndex(arena ? 1 : 0);
  show_position();
}

void MemoryPage::show_position() {
  const bool known = curve_->plan() && !curve_->curve().totals.empty() && views_->currentIndex() == 0;
  peak_->setVisible(known && !curve_->is_at_peak());
  position_->set_line(known ? (curve_->is_at_peak() ? tr("The largest at the peak: %1") : tr("The largest at %1"))
                                  .arg(curve_->position_text(curve_->position()))
                            : QString());
}

void MemoryPage::resizeEvent(QResizeEvent*) { arrange(); }

void MemoryPage::arrange() {
  const int wanted = bars_->sizeHint().height() + legend_->heightForWidth(width()) + 2;
  splitter_->widget(0)->setMaximumHeight(wanted);
  if (!is_moved_) {
    const int bars = is_in_picture(*this) ? wanted : std::min(wanted, height() / 2);
    splitter_->setSizes({bars, height() - bars});
  }
  const int room = splitter_->sizes().at(1) - head_->sizeHint().height();
  const bool is_beside = !is_in_picture(*this) && (width() >= wide || room < stacked);
  const Qt::Orientation now = is_beside ? Qt::Horizontal : Qt::Vertical;
  if (now == use_->orientation()) return;
  use_->setOrientation(now);
  use_->setSizes({1, 1});
}

}  // namespace shardscope
