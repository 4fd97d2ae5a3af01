#include "gui/pages/flow_delegate.h"

#include <QPainter>

#include "gui/look/appearance.h"
#include "gui/look/fitted_name.h"
#include "gui/pages/flow_model.h"

namespace shardscope {
namespace {

constexpr int rail_x = 22;
constexpr int text_x = 44;

}  // namespace

void FlowDelegate::paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const {
  painter->save();
  painter->setRenderHint(QPainter::Antialiasing);
  const QRect row = option.rect;
  const bool selected = option.state & QStyle::State_Selected;
  const bool reshard = index.data(FlowModel::reshard_role).toBool();
  const Theme& colors = theme();
  if (selected) {
    painter->fillRect(row, mix(colors.base, colors.accent, 0.22));
  } else if (option.state & QStyle::State_MouseOver) {
    painter->fillRect(row, mix(colors.base, colors.text, 0.05));
  }
  const QPoint centre(row.left() + rail_x, row.center().y());
  painter->setPen(QPen(colors.line, 2));
  painter->drawLine(centre.x(), index.row() == 0 ? centre.y() : row.top(), centre.x(),
                    index.row() + 1 == index.model()->rowCount() ? centre.y() : row.bottom() + 1);
  const auto kind = static_cast<InstructionKind>(index.data(FlowModel::kind_role).toInt());
  painter->setPen(Qt::NoPen);
  painter->setBrush(reshard ? instruction_color(kind, colors) : mix(colors.muted, colors.base, 0.35));
  if (reshard) {
    painter->translate(centre);
    painter->rotate(45);
    painter->drawRect(-5, -5, 10, 10);
    painter->resetTransform();
  } else {
    painter->drawEllipse(centre, 4, 4);
  }

  const int room = row.width() - text_x - 16;
  const int name_width = room * 46 / 100, layout_width = room * 36 / 100;
  const auto cell = [&](int x, int width, const QString& text, const QColor& color, Qt::Alignment side) {
    painter->setPen(color);
    painter->drawText(QRect(row.left() + x, row.top(), width, row.height()), side | Qt::AlignVCenter, text);
  };
  const auto cut = [&](const QString& text, int width) {
    return painter->fontMetrics().elidedText(text, Qt::ElideRight, width);
  };
  QFont font = option.font;
  font.setBold(reshard);
  painter->setFont(font);
  cell(text_x, name_width - 12, fitted_name(index.data().toString(), painter->fontMetrics(), name_width - 12),
       colors.text, Qt::AlignLeft);
  painter->setFont(option.font);
  const QColor ink = reshard ? colors.text : colors.muted;
  cell(text_x + name_width, layout_width - 12, cut(index.data(FlowModel::layout_role).toString(), layout_width - 12),
       ink, Qt::AlignLeft);
  const int cost_width = room - name_width - layout_width;
  cell(text_x + name_width + layout_width, cost_width, cut(index.data(FlowModel::cost_role).toString(), cost_width),
       ink, Qt::AlignRight);
  painter->restore();
}

QSize FlowDelegate::sizeHint(const QStyleOptionViewItem& option, const QModelIndex&) const {
  return {300, option.fontMetrics.height() + 10};
}

}  // namespace shardscope
