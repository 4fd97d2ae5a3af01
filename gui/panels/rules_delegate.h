#pragma once

#include <QStyledItemDelegate>

namespace shardscope {

// Edits a cell of the rules table as text. What cannot be read is said while it is typed, and is not taken: the editor
// stays open at Enter.
class RulesDelegate : public QStyledItemDelegate {
  Q_OBJECT
 public:
  using QStyledItemDelegate::QStyledItemDelegate;

  QWidget* createEditor(QWidget* parent, const QStyleOptionViewItem& option, const QModelIndex& index) const override;
  // A plan that arrives changes nothing of what is being typed.
  void setEditorData(QWidget* editor, const QModelIndex& index) const override;

 signals:
  // What is wrong with the text in the editor; empty where nothing is, or no editor is open.
  void faultChanged(const QString& fault) const;

 protected:
  bool eventFilter(QObject* editor, QEvent* event) override;
};

}  // namespace shardscope
