#include "gui/export/picture_page.h"

#include <QAbstractButton>
#include <QAbstractSlider>
#include <QAbstractSpinBox>
#include <QCheckBox>
#include <QComboBox>
#include <QHeaderView>
#include <QLabel>
#include <QLayout>
#include <QLineEdit>
#include <QRadioButton>
#include <QScrollArea>
#include <QSplitter>
#include <QStackedWidget>
#include <QTabBar>
#include <QTableView>
#include <QTreeView>
#include <algorithm>
#include <functional>

namespace shardscope {
namespace {

QString choice_of(const QWidget& control) {
  if (control.property("silent").toBool()) return {};
  if (auto* box = qobject_cast<const QComboBox*>(&control)) return box->currentText();
  if (auto* box = qobject_cast<const QAbstractSpinBox*>(&control)) return box->text();
  if (auto* box = qobject_cast<const QCheckBox*>(&control)) return box->isChecked() ? box->text() : QString();
  if (auto* radio = qobject_cast<const QRadioButton*>(&control))
    return radio->isChecked() ? QObject::tr("%1 (shown)").arg(radio->text()) : radio->text();
  return {};
}

bool has_caption(const QWidget& control) { return control.property("caption").toBool(); }

void put_caption(QWidget& control, const QString& text) {
  auto* caption = new QLabel(text, control.parentWidget());
  caption->setTextFormat(Qt::PlainText);
  control.setProperty("caption", true);
  QLayout* layout = control.parentWidget()->layout();
  QLayoutItem* item = layout ? layout->replaceWidget(&control, caption) : nullptr;
  if (!item) caption->setGeometry(control.geometry());
  delete item;
  caption->show();
}

void take_away(QWidget& control) {
  if (const QString choice = choice_of(control); !choice.isEmpty()) put_caption(control, choice);
  control.hide();
}

void set_header(QHeaderView& header, const std::function<void()>& resize_columns) {
  header.setSectionResizeMode(QHeaderView::Interactive);
  header.setResizeContentsPrecision(-1);
  header.setStretchLastSection(false);
  resize_columns();
}

void show_all(QAbstractScrollArea& area) {
  area.setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  area.setVerticalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  area.setSizeAdjustPolicy(QAbstractScrollArea::AdjustToContents);
  area.setMaximumSize(QWIDGETSIZE_MAX, QWIDGETSIZE_MAX);
}

// The last column takes what is left over.
void show_all(QTreeView& tree) {
  QHeaderView& header = *tree.header();
  show_all(static_cast<QAbstractScrollArea&>(tree));
  tree.expandAll();
  set_header(header, [&] {
    for (int column = 0; column < header.count(); ++column) tree.resizeColumnToContents(column);
  });
  tree.setMinimumSize(tree.sizeHint());
  header.setStretchLastSection(true);
}

void show_all(QTableView& table) {
  show_all(static_cast<QAbstractScrollArea&>(table));
  set_header(*table.horizontalHeader(), [&] { table.resizeColumnsToContents(); });
  table.setMinimumSize(table.sizeHint());
  table.horizontalHeader()->setStretchLastSection(true);
}

QSize least_size(const QWidget& widget) {
  const QSize hint = widget.layout() ? widget.layout()->totalMinimumSize() : widget.minimumSizeHint();
  return hint.expandedTo(widget.minimumSize());
}

void show_all(QLabel& label) {
  if (label.wordWrap()) label.setMinimumHeight(label.heightForWidth(label.width()));
  else label.setMinimumSize(label.sizeHint());
}

bool is_left_empty(const QWidget& widget) {
  const QList<QWidget*> children = widget.findChildren<QWidget*>(Qt::FindDirectChildrenOnly);
  return widget.layout() && !children.empty() &&
         std::ranges::all_of(children, [](const QWidget* child) { return child->isHidden(); });
}

bool is_useless(const QWidget& widget) {
  if (is_left_empty(widget)) return true;
  const auto* label = qobject_cast<const QLabel*>(&widget);
  const QWidget* named = label ? label->buddy() : nullptr;
  return named && is_control(*named) && !has_caption(*named) && named->isHidden();
}

void show_all(QWidget& widget) {
  if (auto* tree = qobject_cast<QTreeView*>(&widget)) return show_all(*tree);
  if (auto* table = qobject_cast<QTableView*>(&widget)) return show_all(*table);
  if (auto* label = qobject_cast<QLabel*>(&widget)) return show_all(*label);
  if (auto* area = qobject_cast<QScrollArea*>(&widget)) {
    show_all(static_cast<QAbstractScrollArea&>(*area));
    return area->setMinimumSize(least_size(*area->widget()));
  }
  if (auto* splitter = qobject_cast<QSplitter*>(&widget)) return splitter->setHandleWidth(0);
  if (auto* stack = qobject_cast<QStackedWidget*>(&widget))
    for (int i = 0; i < stack->count(); ++i)
      if (i != stack->currentIndex()) stack->widget(i)->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Ignored);
}

}  // namespace

bool is_control(const QWidget& widget) {
  const bool is_corner = qobject_cast<const QTableView*>(widget.parentWidget());  // of a table's headers
  return (qobject_cast<const QAbstractButton*>(&widget) && !is_corner) || qobject_cast<const QComboBox*>(&widget) ||
         qobject_cast<const QLineEdit*>(&widget) || qobject_cast<const QAbstractSpinBox*>(&widget) ||
         qobject_cast<const QAbstractSlider*>(&widget) || qobject_cast<const QTabBar*>(&widget);
}

bool fit_picture(QWidget& page) {
  bool is_changed = false;
  QList<QWidget*> widgets = page.findChildren<QWidget*>();
  std::ranges::reverse(widgets);  // what is in another one before that
  widgets << &page;
  for (QWidget* widget : widgets) {
    if (!widget->isVisibleTo(&page)) continue;
    if (is_control(*widget)) take_away(*widget);
    else if (widget != &page && is_useless(*widget)) widget->hide();
    else show_all(*widget);
    is_changed |= widget->isHidden() && widget != &page;
  }
  const QSize size = page.size().expandedTo(least_size(page));
  if (size == page.size()) return is_changed;
  page.resize(size);
  return true;
}

}  // namespace shardscope
