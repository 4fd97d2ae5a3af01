#include "gui/panels/spec_delegate.h"

#include <QApplication>
#include <QKeyEvent>
#include <QPainter>
#include <utility>

#include "gui/document/edits.h"
#include "gui/document/faults.h"
#include "gui/look/appearance.h"
#include "gui/panels/parameter_model.h"
#include "gui/panels/spec_editor.h"
#include "gui/workspace/array_facts.h"
#include "gui/workspace/spec_field.h"

namespace shardscope {

SpecDelegate::SpecDelegate(Workspace& workspace, QObject* parent) : CellDelegate(parent), workspace_(workspace) {
  connect(qApp, &QApplication::focusChanged, this, [this](const QWidget*, const QWidget* now) {
    if (now && editor_ && now != editor_ && !editor_->isAncestorOf(now) && now->window() == editor_->window()) close();
  });
}

void SpecDelegate::close() {
  if (editor_) emit closeEditor(editor_, NoHint);
}

void SpecDelegate::destroyEditor(QWidget* editor, const QModelIndex& index) const {
  CellDelegate::destroyEditor(editor, index);
  if (editor == editor_) editor_ = nullptr;
  emit closed();
}

void SpecDelegate::close_unless(const QModelIndex& current) {
  if (editor_ && current.siblingAtColumn(0) != edited_.sibling(edited_.row(), 0)) close();
}

QWidget* SpecDelegate::createEditor(QWidget* parent, const QStyleOptionViewItem&, const QModelIndex& index) const {
  edited_ = index;
  const bool is_group = !is_array(index.data(ParameterModel::array_role).value<ArrayRef>());
  if (std::exchange(typed_, false) || is_group) {
    auto* field = new SpecField(parent);
    editor_ = field;
    connect(field, &SpecField::specTyped, this, [this](const PartitionSpec& spec) { emit specTyped(edited_, spec); });
    return field;
  }
  auto* editor = new SpecEditor(SpecEditor::Form::compact, parent);
  editor->setAutoFillBackground(true);
  editor_ = editor;
  connect(editor, &SpecEditor::dimChosen, this,
          [this](int dim, const std::vector<std::string>& axes) { emit dimChosen(edited_, dim, axes); });
  return editor;
}

void SpecDelegate::setEditorData(QWidget* editor, const QModelIndex& index) const {
  const auto array = index.data(ParameterModel::array_role).value<ArrayRef>();
  const std::optional<ArrayFacts> facts = array_facts(workspace_, array);
  if (auto* field = qobject_cast<SpecField*>(editor)) {
    if (!field->isModified()) field->show_spec(facts ? spec_text(facts->spec, facts->shape.size()) : QString());
    return;
  }
  if (!facts) return;
  const QString place = place_of(array);
  static_cast<SpecEditor*>(editor)->show_specs(
      workspace_.document.config().mesh_axes, workspace_.document.config().pipeline.axis,
      {{facts->title, facts->shape, facts->spec, errors_at(workspace_.planner.errors(), place), place}});
}

// A fault keeps the field open.
bool SpecDelegate::eventFilter(QObject* editor, QEvent* event) {
  auto* field = qobject_cast<SpecField*>(editor);
  if (field && event->type() == QEvent::KeyPress) {
    const int key = static_cast<QKeyEvent*>(event)->key();
    const bool ends = key == Qt::Key_Return || key == Qt::Key_Enter || key == Qt::Key_Tab;
    if (ends && !field->fault().isEmpty()) return true;
    if (key == Qt::Key_Escape) field->abandon();
  }
  return CellDelegate::eventFilter(editor, event);
}

void SpecDelegate::setModelData(QWidget*, QAbstractItemModel*, const QModelIndex&) const {
  // Each choice, and each text that was typed, has been an edit of the document already.
}

void SpecDelegate::updateEditorGeometry(QWidget* editor, const QStyleOptionViewItem& option, const QModelIndex&) const {
  QRect place = option.rect;
  place.setWidth(std::max(place.width(), editor->sizeHint().width()));
  if (const QWidget* viewport = editor->parentWidget(); place.right() > viewport->width())
    place.moveRight(std::max(place.width(), viewport->width()));
  editor->setGeometry(place);
}

void SpecDelegate::paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const {
  CellDelegate::paint(painter, option, index);
  const auto array = index.data(ParameterModel::array_role).value<ArrayRef>();
  if (!is_array(array) || errors_at(workspace_.planner.errors(), place_of(array)).empty()) return;
  painter->save();
  painter->setPen(QPen(theme().error, 2));
  painter->drawRect(option.rect.adjusted(1, 1, -2, -2));
  painter->restore();
}

QSize SpecDelegate::sizeHint(const QStyleOptionViewItem& option, const QModelIndex& index) const {
  return CellDelegate::sizeHint(option, index).expandedTo({0, 26});
}

}  // namespace shardscope
