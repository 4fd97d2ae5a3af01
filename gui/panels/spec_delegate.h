#pragma once

#include <QPersistentModelIndex>
#include <QPointer>
#include <QStyledItemDelegate>

#include "gui/workspace/workspace.h"

namespace shardscope {

// Edits the spec column of a parameter tree in place, with one drop-down per dimension. Each choice is an edit at once.
// The editor closes when another row is chosen or the keyboard goes elsewhere.
class SpecDelegate : public QStyledItemDelegate {
  Q_OBJECT
 public:
  SpecDelegate(Workspace& workspace, QObject* parent);

  bool is_open() const { return editor_; }
  void close_unless(const QModelIndex& current);

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

 private:
  void close();

  Workspace& workspace_;
  mutable QPointer<QWidget> editor_;
  mutable QPersistentModelIndex edited_;
};

}  // namespace shardscope
