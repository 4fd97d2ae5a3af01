#pragma once

#include <QMainWindow>

#include "gui/help/help_window.h"
#include "gui/window/actions.h"
#include "gui/window/centre.h"
#include "gui/window/command_palette.h"
#include "gui/window/docks.h"
#include "gui/window/exports.h"
#include "gui/window/files.h"
#include "gui/window/notice.h"
#include "gui/window/resumed_start.h"
#include "gui/window/run_prompts.h"
#include "gui/window/session_keeper.h"
#include "gui/window/socket_watch.h"
#include "gui/window/tool_bar.h"
#include "gui/window/tour.h"
#include "gui/window/verdict.h"

namespace shardscope {

// The window: tool bar and menus, the pages in the middle, docks around them, the verdict below. Each part is made
// whole from those before it; what happens between them is connected here.
class MainWindow : public QMainWindow {
  Q_OBJECT
 public:
  // `shardrun`: path of the program that trains.
  MainWindow(PlanSource source, const QString& shardrun, QWidget* parent = nullptr);
  ~MainWindow() override;

  Workspace& workspace() { return *workspace_; }
  Files& files() { return files_; }
  Exports& exports() { return exports_; }
  SocketWatch& socket_watch() { return socket_watch_; }
  const RunPanel& run_panel() const { return *docks_.run(); }
  MeshBar* mesh_bar() const { return tool_bar_->mesh_bar(); }
  InspectorPanel* inspector() const { return docks_.inspector(); }
  Verdict* verdict() const { return verdict_; }
  bool show_page(const QString& name) { return centre_->show_page(name); }

  // Takes size and docks from the user's settings, and keeps them there when the window closes.
  void remember_arrangement();
  // Keeps the runs of each file in a history of its own (RunStore), and offers to attach to one that still goes on.
  void keep_history();
  // Keeps unsaved edits in a folder, and offers what was left there.
  bool keep_session(const QString& folder);
  // What was open when the window was closed last; false where nothing of it is left.
  bool restore_session();
  // Nothing is being planned, so what is seen stays.
  bool is_settled() const;

 public slots:
  void train();
  void train_from(const QString& checkpoint);
  void editMesh();

 protected:
  void closeEvent(QCloseEvent* event) override;
  void changeEvent(QEvent* event) override;
  void showEvent(QShowEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;
  void dragEnterEvent(QDragEnterEvent* event) override;
  void dropEvent(QDropEvent* event) override;

 private:
  // What has the keyboard ends its edit, and keeps the keyboard.
  void end_edit();
  void connect_actions();
  void connect_workspace();
  void refresh_title();
  void refresh_run();
  void show_unreadable(const QString& name, const std::vector<Error>& errors);
  void focus_place(const QString& place);
  void show_help();
  void copy_plan();
  void pin_plan();
  void remember_open() const;
  void take_history();

  const QString shardrun_;
  std::unique_ptr<Workspace> workspace_;
  ResumedStart resumed_start_;
  RunPrompts run_prompts_;
  const Actions actions_;
  Files files_;
  Centre* centre_;
  Docks docks_;
  Exports exports_;
  SocketWatch socket_watch_;
  ToolBar* tool_bar_;
  Verdict* verdict_;
  Notice* notice_;
  CommandPalette* palette_;
  Tour* tour_;
  HelpWindow* help_ = nullptr;  // made when it is first asked for
  std::unique_ptr<SessionKeeper> session_;
  std::optional<QString> waiting_to_train_;  // from that checkpoint, for the plan that is being made
  bool remembers_ = false, keeps_history_ = false;
};

}  // namespace shardscope
