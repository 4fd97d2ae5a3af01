#include "gui/window/bottom_panel.h"

#include <algorithm>

namespace shardscope {
namespace {

constexpr int least_height = 60;

}  // namespace

BottomPanel::BottomPanel(QMainWindow& window, std::vector<QDockWidget*> docks)
    : QObject(&window), window_(window), docks_(std::move(docks)) {}

QDockWidget* BottomPanel::at(int tab) const {
  if (!tabs_ || tab < 0 || tab >= tabs_->count()) return nullptr;
  const auto found = std::ranges::find(docks_, tabs_->tabText(tab), &QDockWidget::windowTitle);
  return found == docks_.end() ? nullptr : *found;
}

void BottomPanel::find_tabs() {
  for (auto* bar : window_.findChildren<QTabBar*>(QString(), Qt::FindDirectChildrenOnly)) {
    if (bar == tabs_) return;
    const QPointer<QTabBar> before = std::exchange(tabs_, bar);
    if (!at(0)) {
      tabs_ = before;
      continue;
    }
    bar->setAccessibleName(tr("Panels below"));
    shown_ = bar->currentIndex();
    connect(bar, &QTabBar::currentChanged, this, [this](int tab) {
      if (tab == shown_ || !at(tab)) return;
      shown_ = tab;
      set_collapsed(false);
    });
    connect(bar, &QTabBar::tabBarClicked, this, [this](int tab) {
      if (tab == shown_ && at(tab)) set_collapsed(!collapsed_);
    });
    return;
  }
}

void BottomPanel::set_collapsed(bool collapsed) {
  if (collapsed == collapsed_) return;
  if (collapsed) height_ = std::max(docks_.front()->height(), docks_.back()->height());
  collapsed_ = collapsed;
  for (QDockWidget* dock : docks_) dock->setMaximumHeight(collapsed ? 0 : QWIDGETSIZE_MAX);
  if (!collapsed) {
    const int height = height_ > least_height ? height_ : window_.height() / 4;
    window_.resizeDocks({docks_.front()}, {height}, Qt::Vertical);
  }
  emit collapsedChanged(collapsed);
}

}  // namespace shardscope
