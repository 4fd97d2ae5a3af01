#include "gui/look/fitted_fields.h"

#include <QStyleOptionFrame>
#include <QStyleOptionSpinBox>
#include <algorithm>

namespace shardscope {
namespace {

constexpr int least_letters = 4;  // of a field with a short text, so that a longer one can be typed
constexpr int beside_text = 8;    // the cursor, and what QLineEdit leaves free on both sides

int room_for(const QString& text, const QFontMetrics& metrics) {
  return std::max(metrics.horizontalAdvance(text), metrics.horizontalAdvance(QString(least_letters, '0'))) +
         beside_text;
}

// As wide as the text with what the style puts around it, as high as the field is anyway.
QSize fitted_size(const QWidget& field, const QString& text, int height, QStyle::ContentsType type,
                  const QStyleOption& option) {
  const QSize inside(room_for(text, field.fontMetrics()), height);
  return {field.style()->sizeFromContents(type, &option, inside, &field).width(), height};
}

}  // namespace

WholeField::WholeField(QWidget* parent) : QDoubleSpinBox(parent) {
  setDecimals(0);
  setRange(-largest, largest);
  setGroupSeparatorShown(true);
  setAlignment(Qt::AlignRight);
  connect(this, &QDoubleSpinBox::textChanged, this, [this] { updateGeometry(); });
}

QSize WholeField::minimumSizeHint() const {
  QStyleOptionSpinBox option;
  initStyleOption(&option);
  return fitted_size(*this, text(), QDoubleSpinBox::minimumSizeHint().height(), QStyle::CT_SpinBox, option);
}

FittedLine::FittedLine(QWidget* parent) : QLineEdit(parent) {
  connect(this, &QLineEdit::textChanged, this, [this] { updateGeometry(); });
}

QSize FittedLine::minimumSizeHint() const {
  QStyleOptionFrame option;
  initStyleOption(&option);
  const QString shown = text().isEmpty() ? placeholderText() : text().left(longest);
  return fitted_size(*this, shown, QLineEdit::minimumSizeHint().height(), QStyle::CT_LineEdit, option);
}

}  // namespace shardscope
