#pragma once

#include <QStyledItemDelegate>

namespace shardscope {

// Draws a row of a FlowModel: a rail at the left with a dot for an op and a diamond for a reshard, then name, layout
// and cost in columns.
class FlowDelegate : public QStyledItemDelegate {
 public:
  using QStyledItemDelegate::QStyledItemDelegate;
  void paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const override;
  QSize sizeHint(const QStyleOptionViewItem& option, const QModelIndex& index) const override;
};

}  // namespace shardscope
