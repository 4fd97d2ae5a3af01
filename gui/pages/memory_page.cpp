#include "gui/pages/memory_page.h"

#include <QVBoxLayout>
#include <algorithm>

namespace shardscope {

MemoryPage::MemoryPage(Workspace& workspace, QWidget* parent)
    : QWidget(parent),
      bars_(new MemoryBars(workspace)),
      legend_(new MemoryLegend(workspace)),
      area_(new QScrollArea(this)),
      splitter_(new QSplitter(Qt::Vertical, this)) {
  area_->setWidgetResizable(true);
  area_->setFrameShape(QFrame::NoFrame);
  area_->setWidget(bars_);
  auto* upper = new QWidget(splitter_);
  auto* stack = new QVBoxLayout(upper);
  stack->setContentsMargins(0, 0, 0, 0);
  stack->setSpacing(0);
  stack->addWidget(area_, 1);
  stack->addWidget(legend_);
  splitter_->addWidget(upper);
  splitter_->addWidget(new MemoryLife(workspace));
  splitter_->setStretchFactor(0, 0);
  splitter_->setStretchFactor(1, 1);
  splitter_->setChildrenCollapsible(false);
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->addWidget(splitter_);
  connect(splitter_, &QSplitter::splitterMoved, this, [this] { is_moved_ = true; });
  connect(&workspace.planner, &Planner::delivered, this, &MemoryPage::arrange);
}

void MemoryPage::resizeEvent(QResizeEvent*) { arrange(); }

void MemoryPage::arrange() {
  const int wanted = bars_->sizeHint().height() + legend_->heightForWidth(width()) + 2;
  splitter_->widget(0)->setMaximumHeight(wanted);
  if (is_moved_) return;
  const int bars = std::min(wanted, height() / 2);
  splitter_->setSizes({bars, height() - bars});
}

}  // namespace shardscope
