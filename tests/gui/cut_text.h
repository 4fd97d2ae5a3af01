#pragma once

#include <QAbstractButton>
#include <QAbstractItemView>
#include <QAbstractSpinBox>
#include <QComboBox>
#include <QFontMetricsF>
#include <QHeaderView>
#include <QLabel>
#include <QLineEdit>
#include <QRegularExpression>
#include <QStringList>
#include <QStyleOptionComboBox>
#include <QTextDocument>
#include <QToolButton>
#include <cmath>
#include <optional>

namespace shardscope {

// What of a form cannot be read: texts that are wider or higher than their label, button or field, and those whose
// place is partly behind the edge of a panel. Lines of free text may scroll; they show this many letters.
class CutText {
 public:
  static constexpr int readable_letters = 12;

  static QStringList of(const QWidget& form) {
    QStringList cut;
    const auto check = [&](const QWidget& widget) {
      const std::optional<QString> text = shown_text(widget);
      if (!text || text->isEmpty() || !widget.isVisibleTo(&form) || is_in_list(widget, form)) return;
      const QString where = QString("%1 \"%2\"").arg(widget.metaObject()->className(), *text);
      if (is_too_small(widget, *text)) cut << where + " in " + size_text(widget);
      else if (!is_inside(widget, form)) cut << where + " behind an edge";
    };
    check(form);
    for (const QWidget* widget : form.findChildren<QWidget*>()) check(*widget);
    return cut;
  }

 private:
  static QString size_text(const QWidget& widget) {
    return QString("%1 x %2").arg(widget.width()).arg(widget.height());
  }

  static bool is_in_list(const QWidget& widget, const QWidget& form) {
    for (const QWidget* around = widget.parentWidget(); around && around != &form; around = around->parentWidget())
      if (qobject_cast<const QAbstractItemView*>(around) && !qobject_cast<const QHeaderView*>(&widget)) return true;
    return false;
  }

  static std::optional<QString> shown_text(const QWidget& widget) {
    if (const auto* label = qobject_cast<const QLabel*>(&widget)) return label->text();
    if (const auto* line = qobject_cast<const QLineEdit*>(&widget))
      return line->text().isEmpty() ? line->placeholderText() : line->text();
    if (const auto* box = qobject_cast<const QComboBox*>(&widget))
      return box->isEditable() ? QString() : box->currentIndex() < 0 ? box->placeholderText() : box->currentText();
    if (const auto* button = qobject_cast<const QToolButton*>(&widget))
      return button->toolButtonStyle() == Qt::ToolButtonIconOnly && !button->icon().isNull() ? QString()
                                                                                             : button->text();
    if (const auto* button = qobject_cast<const QAbstractButton*>(&widget)) return button->text();
    return std::nullopt;
  }

  static bool is_too_small(const QWidget& widget, const QString& text) {
    if (const auto* label = qobject_cast<const QLabel*>(&widget)) return is_label_too_small(*label);
    if (const auto* line = qobject_cast<const QLineEdit*>(&widget)) return is_line_too_small(*line, text);
    const QFontMetricsF metrics(widget.font());
    if (const auto* box = qobject_cast<const QComboBox*>(&widget)) {
      QStyleOptionComboBox option;
      option.initFrom(box);
      option.subControls = QStyle::SC_All;
      const QRect field = box->style()->subControlRect(QStyle::CC_ComboBox, &option, QStyle::SC_ComboBoxEditField, box);
      return std::floor(metrics.horizontalAdvance(text)) > field.width();
    }
    return widget.sizeHint().width() > widget.width() || widget.minimumSizeHint().height() > widget.height();
  }

  static bool is_label_too_small(const QLabel& label) {
    QTextDocument words;  // as the label sets it
    words.setDefaultFont(label.font());
    words.setDocumentMargin(0);
    static const QRegularExpression key_mark("&(?!&)");
    if (Qt::mightBeRichText(label.text()) || label.textFormat() == Qt::RichText) words.setHtml(label.text());
    else words.setPlainText(label.buddy() ? QString(label.text()).remove(key_mark) : label.text());
    const QRect room = label.contentsRect();
    words.setTextWidth(label.wordWrap() ? room.width() : -1);
    const bool too_wide = std::floor(words.idealWidth()) > room.width();
    return too_wide || (label.wordWrap() ? label.heightForWidth(label.width()) > label.height() + 1
                                         : std::floor(words.size().height()) > room.height() + 2);
  }

  static bool is_line_too_small(const QLineEdit& line, const QString& text) {
    const bool is_number =
        qobject_cast<const QAbstractSpinBox*>(line.parentWidget()) || (line.alignment() & Qt::AlignRight);
    const QMargins inner = line.textMargins();
    const double room = line.contentsRect().width() - inner.left() - inner.right() - 2;  // the cursor
    const QString wanted = is_number ? text : text.left(readable_letters);
    return std::floor(QFontMetricsF(line.font()).horizontalAdvance(wanted)) > room;
  }

  // Across; a panel may scroll up and down.
  static bool is_inside(const QWidget& widget, const QWidget& form) {
    for (const QWidget* around = widget.parentWidget(); around && &widget != &form; around = around->parentWidget()) {
      const int left = widget.mapTo(around, QPoint()).x();
      if (left < 0 || left + widget.width() > around->width()) return false;
      if (around == &form) break;
    }
    return true;
  }
};

}  // namespace shardscope
