#pragma once

#include <QCache>
#include <QStaticText>
#include <QStyledItemDelegate>

namespace shardscope {

// A cell of a large table, painted as the style would: what is only text is laid out once and kept, which halves the
// work of a page of cells.
class CellDelegate : public QStyledItemDelegate {
  Q_OBJECT
 public:
  using QStyledItemDelegate::QStyledItemDelegate;
  void paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const override;

 protected:
  // What is shown of a text in so much room, in pixels: an ellipsis where it is too long.
  virtual QString fitted(const QString& text, const QFontMetricsF& metrics, double room) const;

 private:
  const QStaticText& laid_out(const QStyleOptionViewItem& cell, double room) const;

  mutable QCache<QString, QStaticText> texts_{4096};
};

}  // namespace shardscope
