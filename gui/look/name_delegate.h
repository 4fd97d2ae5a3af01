#pragma once

#include "gui/look/cell_delegate.h"

namespace shardscope {

// Shows names of scopes so that they stay different in a narrow column (see fitted_name.h). In the first column of a
// tree a name that is too wide goes on over the cells behind it that are empty, where a CellDelegate paints these.
class NameDelegate : public CellDelegate {
 public:
  using CellDelegate::CellDelegate;
  void paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const override;
  // What of its row's name is over an empty cell; false where the name does not go on there.
  bool paint_rest(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& empty) const;

 protected:
  QString fitted(const QString& text, const QFontMetricsF& metrics, double room) const override;
};

}  // namespace shardscope
