#pragma once

#include <QComboBox>
#include <QToolBar>
#include <QToolButton>

#include "gui/window/actions.h"
#include "gui/window/mesh_bar.h"

namespace shardscope {

// Files, undo, training, the mesh, the layout mode and the presets. Where the window is narrow it leaves out words.
class ToolBar : public QToolBar {
  Q_OBJECT
 public:
  ToolBar(const Actions& actions, Workspace& workspace, QWidget* parent = nullptr);

  MeshBar* mesh_bar() const { return mesh_bar_; }
  void fit_to(int width);

 signals:
  void presetChosen(const QString& name);

 private:
  void add_button(QAction* action);
  QComboBox* make_mode(Document& document);
  QComboBox* make_preset();

  MeshBar* mesh_bar_;
  QComboBox* mode_;
};

}  // namespace shardscope
