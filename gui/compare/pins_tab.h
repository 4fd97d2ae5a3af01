#pragma once

#include <QCheckBox>
#include <QLabel>
#include <QTableView>
#include <QToolButton>
#include <QWidget>
#include <array>

#include "gui/compare/layouts_model.h"
#include "gui/compare/quantities_model.h"
#include "gui/look/empty_note.h"

namespace shardscope {

// The pinned plans beside the shown one: what they take and move, and which arrays lie otherwise. Each can be taken or
// let go by its button.
class PinsTab : public QWidget {
  Q_OBJECT
 public:
  PinsTab(Workspace& workspace, PinnedPlans& pins, QWidget* parent = nullptr);

 protected:
  void showEvent(QShowEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;

 private:
  QToolButton* make_button(int place);
  void rename(int place);
  void fit_quantities();  // all of them at once, where there is room
  void refresh();

  Workspace& workspace_;
  PinnedPlans& pins_;
  QToolButton* pin_;
  std::array<QToolButton*, PinnedPlans::count> buttons_{};
  QTableView *quantities_, *layouts_;
  LayoutsModel* layouts_model_;
  QCheckBox* all_;
  EmptyNote* none_;
};

}  // namespace shardscope
