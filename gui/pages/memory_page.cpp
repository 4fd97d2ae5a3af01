#include "gui/pages/memory_page.h"

#include <QVBoxLayout>
#include <algorithm>

namespace shardscope {

MemoryPage::MemoryPage(Workspace& workspace, QWidget* parent)
    : QWidget(parent),
      bars_(new MemoryBars(workspace)),
      area_(new QScrollArea(this)),
      splitter_(new QSplitter(Qt::Vertical, this)) {
  area_->setWidgetResizable(true);
  area_->setFrameShape(QFrame::NoFrame);
  area_->setWidget(bars_);
  splitter_->addWidget(area_);
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
  const int wanted = bars_->sizeHint().height() + 2;
  area_->setMaximumHeight(wanted);
  if (is_moved_) return;
  const int bars = std::min(wanted, height() / 2);
  splitter_->setSizes({bars, height() - bars});
}

}  // namespace shardscope
