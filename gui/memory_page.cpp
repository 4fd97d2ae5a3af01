#include "gui/memory_page.h"

#include <QScrollArea>
#include <QSplitter>
#include <QVBoxLayout>
#include <algorithm>

namespace shardscope {

MemoryPage::MemoryPage(Workspace& workspace, QWidget* parent) : QWidget(parent) {
  auto* bars = new MemoryBars(workspace);
  auto* area = new QScrollArea(this);
  area->setWidgetResizable(true);
  area->setFrameShape(QFrame::NoFrame);
  area->setWidget(bars);
  auto* splitter = new QSplitter(Qt::Vertical, this);
  splitter->addWidget(area);
  splitter->addWidget(new MemoryLife(workspace));
  splitter->setStretchFactor(0, 0);
  splitter->setStretchFactor(1, 1);
  splitter->setChildrenCollapsible(false);
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->addWidget(splitter);
  // The bars get what they need, up to half of the page.
  connect(&workspace.planner, &Planner::delivered, splitter, [splitter, bars, area] {
    const int wanted = bars->sizeHint().height() + 2;
    area->setMaximumHeight(wanted);
    splitter->setSizes({std::min(wanted, splitter->height() / 2), splitter->height()});
  });
}

}  // namespace shardscope
