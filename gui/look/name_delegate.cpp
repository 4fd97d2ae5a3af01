#include "gui/look/name_delegate.h"

#include <QApplication>
#include <QWidget>

#include "gui/look/fitted_name.h"

namespace shardscope {

void NameDelegate::paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const {
  QStyleOptionViewItem shown = option;
  initStyleOption(&shown, index);
  const QStyle* style = option.widget ? option.widget->style() : QApplication::style();
  const int margin = style->pixelMetric(QStyle::PM_FocusFrameHMargin, &shown, option.widget) + 1;
  const int room = style->subElementRect(QStyle::SE_ItemViewItemText, &shown, option.widget).width() - 2 * margin;
  shown.text = fitted_name(shown.text, QFontMetricsF(shown.font), room);
  style->drawControl(QStyle::CE_ItemViewItem, &shown, painter, option.widget);
}

}  // namespace shardscope
