#pragma once

#include <QStyledItemDelegate>

namespace shardscope {

// A cell with a thin bar beneath its text, as long as `role` says (0..1; nothing: no bar) of the cell's width.
class BarDelegate : public QStyledItemDelegate {
 public:
  enum class Ink : uint8_t { accent, muted, warning };
  BarDelegate(int role, Ink ink, QObject* parent) : QStyledItemDelegate(parent), role_(role), ink_(ink) {}
  void paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const override;

 private:
  int role_;
  Ink ink_;
};

}  // namespace shardscope
