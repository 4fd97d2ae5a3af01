#pragma once

#include <QStyledItemDelegate>

namespace shardscope {

// Shows names of scopes so that they stay different in a narrow column (see fitted_name.h).
class NameDelegate : public QStyledItemDelegate {
 public:
  using QStyledItemDelegate::QStyledItemDelegate;
  void paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const override;
};

}  // namespace shardscope
