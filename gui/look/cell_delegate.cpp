#include "gui/look/cell_delegate.h"

#include <QApplication>
#include <QPainter>
#include <QTreeView>
#include <QWidget>
#include <cmath>
#include <utility>

#include "gui/look/name_delegate.h"

namespace shardscope {
namespace {

// Without a check mark, a field, a frame: an icon and text on the ground of its row.
bool is_plain(const QStyleOptionViewItem& cell) {
  constexpr QStyle::State framed = QStyle::State_Selected | QStyle::State_MouseOver | QStyle::State_HasFocus;
  constexpr QStyleOptionViewItem::ViewItemFeatures more =
      QStyleOptionViewItem::HasCheckIndicator | QStyleOptionViewItem::WrapText;
  return !(cell.state & framed) && !(cell.features & more) && cell.backgroundBrush.style() == Qt::NoBrush;
}

struct Places {
  QRect text, icon;
};

// Where its text and icon may be. The style would lay the text out to tell, which takes longer than to paint it: it is
// asked of an empty one.
Places places_in(QStyleOptionViewItem& cell, const QStyle& style) {
  const QString text = std::exchange(cell.text, {});
  const bool whole = std::exchange(cell.showDecorationSelected, true);
  Places places{style.subElementRect(QStyle::SE_ItemViewItemText, &cell, cell.widget), {}};
  if (cell.features & QStyleOptionViewItem::HasDecoration)
    places.icon = style.subElementRect(QStyle::SE_ItemViewItemDecoration, &cell, cell.widget);
  cell.text = text;
  cell.showDecorationSelected = whole;
  return places;
}

}  // namespace

QString CellDelegate::fitted(const QString& text, const QFontMetricsF& metrics, double room) const {
  return metrics.elidedText(text, Qt::ElideRight, room);
}

const QStaticText& CellDelegate::laid_out(const QStyleOptionViewItem& cell, double room) const {
  const QString key = QString::number(2 * int(room) + int(cell.font.bold())) + ' ' + cell.text;
  if (const QStaticText* known = texts_.object(key)) return *known;
  auto* made = new QStaticText(cell.text);
  made->setTextFormat(Qt::PlainText);
  made->prepare({}, cell.font);
  if (made->size().width() > room) {
    made->setText(fitted(cell.text, QFontMetricsF(cell.font), room));
    made->prepare({}, cell.font);
  }
  texts_.insert(key, made);
  return *made;
}

void CellDelegate::paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const {
  QStyleOptionViewItem cell = option;
  initStyleOption(&cell, index);
  if (cell.text.isEmpty() && index.column() > 0)
    if (const auto* tree = qobject_cast<const QTreeView*>(cell.widget))
      if (const auto* names = dynamic_cast<const NameDelegate*>(tree->itemDelegateForColumn(0)))
        if (names->paint_rest(painter, option, index)) return;
  const QStyle* style = cell.widget ? cell.widget->style() : QApplication::style();
  const int margin = style->pixelMetric(QStyle::PM_FocusFrameHMargin, &cell, cell.widget) + 1;
  auto [place, icon] = places_in(cell, *style);
  const double room = place.width() - 2 * margin;
  const QStaticText& text = laid_out(cell, room);
  if (!is_plain(cell)) {
    cell.text = text.text();
    style->drawControl(QStyle::CE_ItemViewItem, &cell, painter, cell.widget);
    return;
  }
  const bool is_enabled = cell.state & QStyle::State_Enabled;
  cell.icon.paint(painter, icon, cell.decorationAlignment, is_enabled ? QIcon::Normal : QIcon::Disabled);
  if (room <= 0) return;
  if (!cell.showDecorationSelected) {
    const QSize size(int(std::ceil(text.size().width())) + 2 * margin, place.height());
    place = QStyle::alignedRect(cell.direction, cell.displayAlignment, size.boundedTo(place.size()), place);
  }
  const Qt::Alignment alignment = QStyle::visualAlignment(cell.direction, cell.displayAlignment);
  const QRect line = QStyle::alignedRect(cell.direction, cell.displayAlignment, text.size().toSize(), place);
  const double spare = place.width() - 2 * margin - text.size().width();
  const double x = alignment & Qt::AlignRight ? spare : alignment & Qt::AlignHCenter ? spare / 2 : 0;
  painter->setFont(cell.font);
  painter->setPen(cell.palette.color(is_enabled ? QPalette::Normal : QPalette::Disabled, QPalette::Text));
  painter->drawStaticText(QPointF(place.x() + margin + x, line.y()), text);
}

}  // namespace shardscope
