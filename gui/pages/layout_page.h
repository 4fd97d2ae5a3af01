#pragma once

#include <QMenu>
#include <QStackedWidget>
#include <QToolButton>

#include "gui/pages/layout_array_picker.h"
#include "gui/pages/layout_constraint.h"
#include "gui/pages/layout_pins.h"
#include "gui/pages/layout_view.h"
#include "gui/pages/replay_view.h"
#include "gui/workspace/page.h"

namespace shardscope {

// How the selected array is sharded over the mesh, with a field to choose any array, sliders through the pages of
// arrays of more than two dimensions and a constraint for activations; and the replay of what moves it.
class LayoutPage : public QWidget, public Page {
  Q_OBJECT
 public:
  explicit LayoutPage(Workspace& workspace, QWidget* parent = nullptr);

  QSize minimumSizeHint() const override { return {280, 150}; }
  LayoutView* view() const { return view_; }
  ReplayView* replay() const { return replay_; }
  LayoutPins* pins() const { return pins_; }
  // Of the selected step where it moves arrays, else of the first that moves the selected array; false where there is
  // neither.
  bool replay_selected();

 protected:
  void showEvent(QShowEvent* event) override;
  void hideEvent(QHideEvent* event) override;

 private:
  void show_tools();
  void fill_menu();
  std::vector<StepRef> replayable() const;
  bool open_replay(StepRef step);
  void close_replay();
  QString step_text(const Plan& plan, StepRef step) const;

  Workspace& workspace_;
  LayoutArrayPicker* picker_;
  QToolButton* offer_;
  QMenu* menu_;
  LayoutPins* pins_;
  LayoutConstraint* constraint_;
  QWidget* tools_;
  QStackedWidget* stack_;
  LayoutView* view_;
  ReplayView* replay_;
};

}  // namespace shardscope
