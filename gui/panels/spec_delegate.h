#pragma once

#include <QStyledItemDelegate>

#include "gui/workspace/workspace.h"

namespace shardscope {

// Edits the spec column of a parameter tree in place, with one drop-down per dimension. Each choice is an edit at once.
class SpecDelegate : public QStyledItemDelegate {
  Q_OBJECT
 public:
  SpecDelegate(Workspace& workspace, QObject* parent);

  QWidget* createEditor(QWidget* parent, const QStyleOptionViewItem& option, const QModelIndex& index) const override;
  void setEditorData(QWidget* editor, const QModelIndex& index) const override;
  void setModelData(QWidget* editor, QAbstractItemModel* model, const QModelIndex& index) const override;
  void updateEditorGeometry(QWidget* editor, const QStyleOptionViewItem& option,
                            const QModelIndex& index) const override;
  void paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const override;
  QSize sizeHint(const QStyleOptionViewItem& option, const QModelIndex& index) const override;

 private:
  Workspace& workspace_;
};

}  // namespace shardscope
