#pragma once

#include <QComboBox>
#include <QDockWidget>
#include <QLabel>
#include <QMainWindow>
#include <QTabWidget>
#include <array>

#include "gui/look/appearance.h"
#include "gui/panels/inspector_panel.h"
#include "gui/panels/parameters_panel.h"
#include "gui/panels/problems_panel.h"
#include "gui/panels/settings_panel.h"
#include "gui/run/run_panel.h"
#include "gui/window/mesh_bar.h"
#include "gui/window/verdict.h"
#include "gui/workspace/workspace.h"

namespace shardscope {

class RecentFiles;

// The window: tool bar and menus, the pages in the middle, docks around them, the verdict below.
class MainWindow : public QMainWindow {
  Q_OBJECT
 public:
  // `shardrun`: path of the program that trains.
  MainWindow(PlanSource source, const QString& shardrun, QWidget* parent = nullptr);

  Workspace& workspace() { return *workspace_; }
  MeshBar* mesh_bar() const { return mesh_bar_; }
  InspectorPanel* inspector() const { return inspector_; }
  Verdict* verdict() const { return verdict_; }
  QTabWidget* pages() const { return pages_; }

  // Reads a run file into the document; false, with the errors in the Problems panel, when it cannot be read. Asks
  // nothing about unsaved changes.
  bool open_file(const QString& path);
  void open_preset(const QString& name);
  // Takes size and docks from the user's settings, and keeps them there when the window closes.
  void remember_arrangement();
  // Nothing is being planned, so what is seen stays.
  bool is_settled() const;
  // "layout", "flow", "memory", "collectives" or "timeline"; false for another name.
  bool show_page(const QString& name);

 public slots:
  void open();
  bool save();
  bool saveAs();
  void train();
  void editMesh();

 protected:
  void closeEvent(QCloseEvent* event) override;
  void showEvent(QShowEvent* event) override;
  bool event(QEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;
  void dragEnterEvent(QDragEnterEvent* event) override;
  void dropEvent(QDropEvent* event) override;

 private:
  void make_pages();
  void make_docks();
  void arrange_docks();
  std::array<int, 3> dock_sizes() const;
  void fit_tool_bar();
  void choose_theme(ThemeChoice choice);
  void make_actions();
  void make_tool_bar();
  void make_menus();
  void refresh_title();
  void refresh_banner();
  void refresh_run();
  void focus_place(const QString& place);
  void copy_plan();
  bool may_discard();
  bool write(const QString& path);
  QDockWidget* dock(const QString& name, const QString& title, QWidget* widget, Qt::DockWidgetArea area);
  QAction* action(const QString& name, const QString& text, const QKeySequence& key, const QString& icon,
                  const QString& tip);
  void choose_first_array();

  std::unique_ptr<Workspace> workspace_;
  QTabWidget* pages_ = nullptr;
  QLabel* banner_ = nullptr;
  MeshBar* mesh_bar_ = nullptr;
  QComboBox* mode_ = nullptr;
  QComboBox* preset_ = nullptr;
  ParametersPanel* parameters_ = nullptr;
  SettingsPanel* settings_ = nullptr;
  InspectorPanel* inspector_ = nullptr;
  ProblemsPanel* problems_ = nullptr;
  RunPanel* run_panel_ = nullptr;
  Verdict* verdict_ = nullptr;
  RecentFiles* recent_ = nullptr;
  std::vector<QDockWidget*> docks_;
  bool arranged_ = false;
  bool remembers_ = false;
  bool sized_by_hand_ = false;          // a person has moved an edge of a dock
  std::array<int, 3> pressed_sizes_{};  // of the docks when the mouse went down
  QDockWidget* problems_dock_ = nullptr;
  QDockWidget* run_dock_ = nullptr;
  QDockWidget* parameters_dock_ = nullptr;
  QDockWidget* settings_dock_ = nullptr;
  QDockWidget* inspector_dock_ = nullptr;
  QAction *open_ = nullptr, *save_ = nullptr, *save_as_ = nullptr, *undo_ = nullptr, *redo_ = nullptr,
          *train_ = nullptr, *stop_ = nullptr, *mesh_ = nullptr, *find_ = nullptr, *copy_ = nullptr, *quit_ = nullptr;
};

}  // namespace shardscope
