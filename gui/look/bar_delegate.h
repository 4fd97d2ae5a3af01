#pragma once

#include "gui/look/cell_delegate.h"

namespace shardscope {

// A cell with a thin bar beneath its text, as long as `role` says (0..1; nothing: no bar) of the cell's width.
class BarDelegate : public CellDelegate {
 public:
  enum class Ink : uint8_t { accent, muted, warning };
  BarDelegate(int role, Ink ink, QObject* parent) : CellDelegate(parent), role_(role), ink_(ink) {}
  void paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const override;

 private:
  int role_;
  Ink ink_;
};

}  // namespace shardscope
