#include "gui/look/shared_columns.h"

#include <QEvent>
#include <QHeaderView>
#include <algorithm>
#include <numeric>

namespace shardscope {

std::vector<int> shared_widths(const std::vector<int>& wanted, int room) {
  std::vector<size_t> order(wanted.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, {}, [&](size_t column) { return wanted[column]; });
  std::vector<int> widths(wanted.size());
  for (size_t i = 0; i < order.size(); ++i) {
    const int equal = room / static_cast<int>(order.size() - i);
    room -= widths[order[i]] = std::min(wanted[order[i]], equal);
  }
  if (!widths.empty()) widths.front() += room;
  return widths;
}

SharedColumns::SharedColumns(QTreeView* tree) : QObject(tree), tree_(tree) {
  tree->header()->setStretchLastSection(false);
  tree->viewport()->installEventFilter(this);
  connect(tree->header(), &QHeaderView::sectionResized, this, [this] { by_hand_ |= !sharing_; });
}

void SharedColumns::share() {
  if (by_hand_ || sharing_) return;
  sharing_ = true;
  constexpr int gap = 8;
  std::vector<int> wanted;
  for (int column = 0; column < tree_->header()->count(); ++column)
    wanted.push_back(gap + std::max(static_cast<const QAbstractItemView*>(tree_)->sizeHintForColumn(column),
                                    tree_->header()->sectionSizeHint(column)));
  const std::vector<int> widths = shared_widths(wanted, tree_->viewport()->width());
  for (int column = 0; column < tree_->header()->count(); ++column)
    tree_->setColumnWidth(column, widths[static_cast<size_t>(column)]);
  sharing_ = false;
}

bool SharedColumns::eventFilter(QObject* watched, QEvent* event) {
  if (event->type() == QEvent::Resize) share();
  return QObject::eventFilter(watched, event);
}

}  // namespace shardscope
