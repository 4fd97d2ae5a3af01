#include "gui/memory_page.h"

#include <QScrollArea>
#include <QSplitter>
#include <QVBoxLayout>

namespace shardscope {

MemoryPage::MemoryPage(Workspace& workspace, QWidget* parent) : QWidget(parent) {
  auto* area = new QScrollArea(this);
  area->setWidgetResizable(true);
  area->setFrameShape(QFrame::NoFrame);
  area->setWidget(new MemoryBars(workspace));
  auto* splitter = new QSplitter(Qt::Vertical, this);
  splitter->addWidget(area);
  splitter->addWidget(new MemoryLife(workspace));
  splitter->setStretchFactor(0, 0);
  splitter->setStretchFactor(1, 1);
  splitter->setChildrenCollapsible(false);
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->addWidget(splitter);
}

}  // namespace shardscope
