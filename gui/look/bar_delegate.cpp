#include "gui/look/bar_delegate.h"

#include <QPainter>
#include <algorithm>

#include "gui/look/appearance.h"

namespace shardscope {

void BarDelegate::paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const {
  CellDelegate::paint(painter, option, index);
  const QVariant length = index.data(role_);
  if (!length.isValid()) return;
  const QRect cell = option.rect.adjusted(4, 0, -4, 0);
  const QColor color = ink_ == Ink::accent ? theme().accent : ink_ == Ink::muted ? theme().muted : theme().warning;
  const double width = std::max(1.0, cell.width() * std::clamp(length.toDouble(), 0.0, 1.0));
  painter->fillRect(QRectF(cell.right() - width, cell.bottom() - 3, width, 3), mix(theme().base, color, 0.75));
}

}  // namespace shardscope
