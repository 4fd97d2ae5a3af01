#pragma once

#include <QDockWidget>
#include <QMainWindow>
#include <array>
#include <vector>

#include "gui/panels/inspector_panel.h"
#include "gui/panels/parameters_panel.h"
#include "gui/panels/problems_panel.h"
#include "gui/panels/rules_panel.h"
#include "gui/panels/settings_panel.h"
#include "gui/run/run_panel.h"
#include "gui/window/bottom_panel.h"

namespace shardscope {

// The panels around the pages, each in a dock of the window: Parameters and Settings at the left, the Inspector at the
// right, Run, Problems and Rules below, collapsed until there is a run. They take their share of the window's size
// until a person has sized them.
class Docks : public QObject {
  Q_OBJECT
 public:
  Docks(QMainWindow& window, Workspace& workspace);

  ParametersPanel* parameters() const { return parameters_; }
  InspectorPanel* inspector() const { return inspector_; }
  ProblemsPanel* problems() const { return problems_; }
  RunPanel* run() const { return run_; }

  BottomPanel* bottom() const { return below_; }

  // Brings the dock of a panel to the front; those below the pages open.
  void show(QWidget* panel);
  // Gives the keyboard to the field of a place of the run file.
  void focus_place(const QString& place);
  const std::vector<QDockWidget*>& all() const { return docks_; }

  // For a window that has another size than before.
  void take_share();
  // Whether a person has sized them; then the sizes stay, also those that a window has restored.
  bool keeps_sizes() const { return keeps_sizes_; }
  void keep_sizes() { keeps_sizes_ = true; }

 protected:
  bool eventFilter(QObject* watched, QEvent* event) override;

 private:
  QDockWidget* add(const QString& name, const QString& title, QWidget* panel, Qt::DockWidgetArea area);
  std::array<int, 3> sizes() const;

  QMainWindow& window_;
  ParametersPanel* parameters_;
  SettingsPanel* settings_;
  InspectorPanel* inspector_;
  ProblemsPanel* problems_;
  RulesPanel* rules_;
  RunPanel* run_;
  std::vector<QDockWidget*> docks_;
  QDockWidget *left_, *right_, *bottom_;
  BottomPanel* below_;
  bool keeps_sizes_ = false;
  std::array<int, 3> pressed_sizes_{};  // when the mouse went down
};

}  // namespace shardscope
