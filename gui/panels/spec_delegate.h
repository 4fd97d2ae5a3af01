#pragma once

#include <QPersistentModelIndex>
#include <QPointer>

#include "gui/look/cell_delegate.h"
#include "gui/workspace/workspace.h"

namespace shardscope {

// Edits the spec column of a parameter tree in place: an array with one drop-down per dimension, each choice an edit at
// once; a group of arrays, and any array when it is asked so, as text. What is edited is for the tree's panel to do: it
// knows which rows are selected. The editor closes when another row is chosen or the keyboard goes elsewhere.
class SpecDelegate : public CellDelegate {
  Q_OBJECT
 public:
  SpecDelegate(Workspace& workspace, QObject* parent);

  bool is_open() const { return editor_; }
  void close_unless(const QModelIndex& current);
  // The next editor is a line of text.
  void type_next() { typed_ = true; }

  QWidget* createEditor(QWidget* parent, const QStyleOptionViewItem& option, const QModelIndex& index) const override;
  void destroyEditor(QWidget* editor, const QModelIndex& index) const override;
  void setEditorData(QWidget* editor, const QModelIndex& index) const override;
  void setModelData(QWidget* editor, QAbstractItemModel* model, const QModelIndex& index) const override;
  void updateEditorGeometry(QWidget* editor, const QStyleOptionViewItem& option,
                            const QModelIndex& index) const override;
  void paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const override;
  QSize sizeHint(const QStyleOptionViewItem& option, const QModelIndex& index) const override;

 signals:
  void closed() const;
  void dimChosen(const QModelIndex& index, int dim, const std::vector<std::string>& axes) const;
  void specTyped(const QModelIndex& index, const PartitionSpec& spec) const;

 protected:
  bool eventFilter(QObject* editor, QEvent* event) override;

 private:
  void close();

  Workspace& workspace_;
  mutable bool typed_ = false;
  mutable QPointer<QWidget> editor_;
  mutable QPersistentModelIndex edited_;
};

}  // namespace shardscope
