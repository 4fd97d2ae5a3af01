#include "gui/look/name_delegate.h"

#include <QHeaderView>
#include <QPainter>
#include <QTreeView>

#include "gui/look/fitted_name.h"

namespace shardscope {
namespace {

constexpr int beside_name = 8;  // that the style leaves free

// The place of a name with the empty cells behind it.
QRect whole_place(const QTreeView& tree, const QModelIndex& name) {
  QRect place = tree.visualRect(name);
  if (tree.fontMetrics().horizontalAdvance(name.data().toString()) + beside_name <= place.width()) return place;
  const QHeaderView& header = *tree.header();
  for (int at = header.visualIndex(name.column()) + 1; at < header.count(); ++at) {
    const int column = header.logicalIndex(at);
    if (header.isSectionHidden(column)) continue;
    if (!name.siblingAtColumn(column).data().toString().isEmpty()) break;
    place.setWidth(place.width() + header.sectionSize(column));
  }
  return place;
}

}  // namespace

void NameDelegate::paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const {
  const auto* tree = qobject_cast<const QTreeView*>(option.widget);
  const QRect place = tree && index.column() == 0 ? whole_place(*tree, index) : option.rect;
  if (place.width() <= option.rect.width()) return CellDelegate::paint(painter, option, index);
  QStyleOptionViewItem wide = option;
  wide.rect.setWidth(place.width());
  painter->save();
  painter->setClipRect(option.rect, Qt::IntersectClip);
  CellDelegate::paint(painter, wide, index);
  painter->restore();
}

bool NameDelegate::paint_rest(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& empty) const {
  const auto* tree = qobject_cast<const QTreeView*>(option.widget);
  const QModelIndex name = empty.siblingAtColumn(0);
  const QRect place = tree ? whole_place(*tree, name) : QRect();
  if (!place.contains(option.rect)) return false;
  QStyleOptionViewItem wide = option;
  wide.rect = place;
  painter->save();
  painter->setClipRect(option.rect, Qt::IntersectClip);
  CellDelegate::paint(painter, wide, name);
  painter->restore();
  return true;
}

QString NameDelegate::fitted(const QString& text, const QFontMetricsF& metrics, double room) const {
  return fitted_name(text, metrics, room);
}

}  // namespace shardscope
