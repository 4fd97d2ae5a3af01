#pragma once

#include <QComboBox>
#include <QToolBar>
#include <QToolButton>

#include "gui/window/actions.h"
#include "gui/window/mesh_bar.h"
#include "gui/window/strategy_bar.h"

namespace shardscope {

// Files, undo, training, the mesh, the layout mode and the presets. Where the window is narrow it leaves out words;
// where the mesh still has no room, it gets a line of its own.
class ToolBar : public QToolBar {
  Q_OBJECT
 public:
  ToolBar(const Actions& actions, Workspace& workspace, QWidget* parent = nullptr);

  MeshBar* mesh_bar() const { return mesh_bar_; }
  QToolBar* second_line() const { return second_; }
  // The line of the strategy, which is there where the run file has one.
  StrategyBar* strategy_bar() const { return strategy_bar_; }
  QToolBar* strategy_line() const { return strategy_line_; }
  void fit_to(int width);

 signals:
  void presetChosen(const QString& name);

 protected:
  bool eventFilter(QObject* watched, QEvent* event) override;

 private:
  void add_button(QAction* action);
  QComboBox* make_mode(Document& document);
  QComboBox* make_preset();

  void give_own_line(bool own);

  MeshBar* mesh_bar_;
  QToolBar* second_;
  StrategyBar* strategy_bar_;
  QToolBar* strategy_line_;
  QAction *mesh_action_, *behind_mesh_;
  bool has_own_line_ = false;
  int width_ = 0, mesh_width_ = 0;
  QComboBox* mode_;
};

}  // namespace shardscope
