#include "gui/look/cell_delegate.h"

#include <QApplication>
#include <QPainter>
#include <QWidget>

namespace shardscope {
namespace {

// Without a mark, an icon, a field, a frame: text on the ground of its row.
bool is_plain(const QStyleOptionViewItem& cell) {
  constexpr QStyle::State framed = QStyle::State_Selected | QStyle::State_MouseOver | QStyle::State_HasFocus;
  constexpr QStyleOptionViewItem::ViewItemFeatures more =
      QStyleOptionViewItem::HasCheckIndicator | QStyleOptionViewItem::HasDecoration | QStyleOptionViewItem::WrapText;
  return !(cell.state & framed) && !(cell.features & more) && cell.backgroundBrush.style() == Qt::NoBrush;
}

}  // namespace

QString CellDelegate::fitted(const QString& text, const QFontMetricsF& metrics, double room) const {
  return metrics.elidedText(text, Qt::ElideRight, room);
}

const QStaticText& CellDelegate::laid_out(const QStyleOptionViewItem& cell, double room) const {
  const QString key = QString::number(2 * int(room) + int(cell.font.bold())) + ' ' + cell.text;
  if (const QStaticText* known = texts_.object(key)) return *known;
  auto* made = new QStaticText(fitted(cell.text, QFontMetricsF(cell.font), room));
  made->setTextFormat(Qt::PlainText);
  made->prepare({}, cell.font);
  texts_.insert(key, made);
  return *made;
}

void CellDelegate::paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const {
  QStyleOptionViewItem cell = option;
  initStyleOption(&cell, index);
  const QStyle* style = cell.widget ? cell.widget->style() : QApplication::style();
  const int margin = style->pixelMetric(QStyle::PM_FocusFrameHMargin, &cell, cell.widget) + 1;
  const QRect place = style->subElementRect(QStyle::SE_ItemViewItemText, &cell, cell.widget);
  const double room = place.width() - 2 * margin;
  const QStaticText& text = laid_out(cell, room);
  if (!is_plain(cell)) {
    cell.text = text.text();
    style->drawControl(QStyle::CE_ItemViewItem, &cell, painter, cell.widget);
    return;
  }
  if (room <= 0) return;
  const Qt::Alignment alignment = QStyle::visualAlignment(cell.direction, cell.displayAlignment);
  const QRect line = QStyle::alignedRect(cell.direction, cell.displayAlignment, text.size().toSize(), place);
  const double spare = room - text.size().width();
  const double x = alignment & Qt::AlignRight ? spare : alignment & Qt::AlignHCenter ? spare / 2 : 0;
  const bool is_enabled = cell.state & QStyle::State_Enabled;
  painter->setFont(cell.font);
  painter->setPen(cell.palette.color(is_enabled ? QPalette::Normal : QPalette::Disabled, QPalette::Text));
  painter->drawStaticText(QPointF(place.x() + margin + x, line.y()), text);
}

}  // namespace shardscope
