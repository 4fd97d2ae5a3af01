#pragma once

#include <QLineEdit>
#include <QStringListModel>

#include "gui/workspace/workspace.h"

namespace shardscope {

// A field in which any array of the model is found by a part of its name, activations among them, and selected.
class LayoutArrayPicker : public QLineEdit {
  Q_OBJECT
 public:
  explicit LayoutArrayPicker(Workspace& workspace, QWidget* parent = nullptr);

  // Selects the array that goes by the name; false where there is none.
  bool pick(const QString& name);

 protected:
  void focusInEvent(QFocusEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;

 private:
  void show_selected();

  Workspace& workspace_;
  QStringListModel* names_;
};

}  // namespace shardscope
