#include <QActionGroup>
#include <QApplication>
#include <QMenuBar>
#include <QMessageBox>
#include <QTabBar>
#include <QToolBar>
#include <QToolButton>
#include <QVBoxLayout>
#include <algorithm>

#include "gui/document/edits.h"
#include "gui/look/appearance.h"
#include "gui/pages/collectives_page.h"
#include "gui/pages/flow_page.h"
#include "gui/pages/layout_page.h"
#include "gui/pages/memory_page.h"
#include "gui/pages/timeline_page.h"
#include "gui/window/presets.h"
#include "gui/window/recent_files.h"
#include "gui/window/window.h"

namespace shardscope {
namespace {

constexpr int roomy_width = 1120;  // from here on the tool bar has room for words

}  // namespace

void MainWindow::make_pages() {
  auto* centre = new QWidget(this);
  auto* layout = new QVBoxLayout(centre);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->setSpacing(0);
  banner_ = new QLabel(centre);
  banner_->setObjectName("banner");
  banner_->setWordWrap(true);
  banner_->hide();
  pages_ = new QTabWidget(centre);
  pages_->setObjectName("pages");
  pages_->setDocumentMode(true);
  pages_->tabBar()->setExpanding(false);
  pages_->addTab(new LayoutPage(*workspace_), tr("&Layout"));
  pages_->addTab(new FlowPage(*workspace_), tr("&Flow"));
  pages_->addTab(new MemoryPage(*workspace_), tr("&Memory"));
  pages_->addTab(new CollectivesPage(*workspace_), tr("&Collectives"));
  pages_->addTab(new TimelinePage(*workspace_), tr("&Timeline"));
  const QString tips[] = {tr("How the selected array lies on the devices."),
                          tr("The steps of the program, with the layout of what each computes and every reshard."),
                          tr("What fills each device's memory, and when."),
                          tr("Everything the devices exchange in a training step, and why."),
                          tr("Where the time of a training step goes.")};
  for (int i = 0; i < pages_->count(); ++i) pages_->setTabToolTip(i, tips[i]);
  layout->addWidget(banner_);
  layout->addWidget(pages_, 1);
  setCentralWidget(centre);
}

QDockWidget* MainWindow::dock(const QString& name, const QString& title, QWidget* widget, Qt::DockWidgetArea area) {
  auto* made = new QDockWidget(title, this);
  made->setObjectName(name);
  made->setWidget(widget);
  made->setFeatures(QDockWidget::DockWidgetClosable | QDockWidget::DockWidgetMovable);
  made->setTitleBarWidget(new QWidget(made));  // tabs and the View menu name the docks
  addDockWidget(area, made);
  docks_.push_back(made);
  return made;
}

void MainWindow::make_docks() {
  setCorner(Qt::BottomRightCorner, Qt::BottomDockWidgetArea);
  setCorner(Qt::BottomLeftCorner, Qt::BottomDockWidgetArea);
  setTabPosition(Qt::AllDockWidgetAreas, QTabWidget::North);
  parameters_ = new ParametersPanel(*workspace_);
  settings_ = new SettingsPanel(*workspace_);
  inspector_ = new InspectorPanel(*workspace_);
  problems_ = new ProblemsPanel(*workspace_);
  run_panel_ = new RunPanel(workspace_->run, workspace_->planner, workspace_->selection);
  parameters_dock_ = dock("parameters", tr("Parameters"), parameters_, Qt::LeftDockWidgetArea);
  settings_dock_ = dock("settings", tr("Settings"), settings_, Qt::LeftDockWidgetArea);
  tabifyDockWidget(parameters_dock_, settings_dock_);
  parameters_dock_->raise();
  inspector_dock_ = dock("inspector", tr("Inspector"), inspector_, Qt::RightDockWidgetArea);
  run_dock_ = dock("run", tr("Run"), run_panel_, Qt::BottomDockWidgetArea);
  problems_dock_ = dock("problems", tr("Problems"), problems_, Qt::BottomDockWidgetArea);
  tabifyDockWidget(run_dock_, problems_dock_);
  run_dock_->raise();
  connect(problems_, &ProblemsPanel::countChanged, this, [this](int errors, int warnings) {
    problems_dock_->setWindowTitle(errors + warnings == 0 ? tr("Problems")
                                                          : tr("Problems (%1)").arg(errors + warnings));
  });
}

std::array<int, 3> MainWindow::dock_sizes() const {
  return {parameters_dock_->width(), inspector_dock_->width(), run_dock_->height()};
}

void MainWindow::arrange_docks() {
  resizeDocks({parameters_dock_, inspector_dock_},
              {std::clamp(width() * 29 / 100, 230, 380), std::clamp(width() / 5, 190, 320)}, Qt::Horizontal);
  resizeDocks({run_dock_}, {std::clamp(height() / 4, 150, 260)}, Qt::Vertical);
}

QAction* MainWindow::action(const QString& name, const QString& text, const QKeySequence& key, const QString& icon,
                            const QString& tip) {
  auto* made = new QAction(text, this);
  made->setObjectName(name);
  made->setShortcut(key);
  if (!icon.isEmpty()) {
    made->setIcon(themed_icon(icon));
    made->setProperty("icon_name", icon);
  }
  const QString keys = key.toString(QKeySequence::NativeText);
  made->setToolTip(keys.isEmpty() ? tip : QString("%1 (%2)").arg(tip, keys));
  addAction(made);
  return made;
}

void MainWindow::make_actions() {
  open_ = action("open", tr("&Open\u2026"), QKeySequence::Open, "open", tr("Open a run file"));
  save_ = action("save", tr("&Save"), QKeySequence::Save, "save", tr("Save the run file"));
  save_as_ = action("saveAs", tr("Save &as\u2026"), QKeySequence("Ctrl+Shift+S"), "", tr("Save under another name"));
  quit_ = action("quit", tr("&Quit"), QKeySequence::Quit, "", tr("Close the window"));
  train_ = action("train", tr("&Train"), QKeySequence("F5"), "train", tr("Train this plan on one rank per device"));
  stop_ =
      action("stop", tr("&Stop"), QKeySequence("Shift+F5"), "stop", tr("Stop after the current step; again: at once"));
  mesh_ = action("meshAxes", tr("&Mesh axes\u2026"), QKeySequence("Ctrl+M"), "mesh",
                 tr("Add, remove, rename or order mesh axes"));
  find_ = action("find", tr("&Find parameter"), QKeySequence::Find, "", tr("Filter the parameter tree"));
  copy_ = action("copyPlan", tr("Copy plan as &text"), QKeySequence("Ctrl+Shift+C"), "",
                 tr("Copy the verdict and the run file"));
  QUndoStack& stack = workspace_->document.undo_stack();
  undo_ = stack.createUndoAction(this, tr("Undo"));
  undo_->setShortcut(QKeySequence::Undo);
  redo_ = stack.createRedoAction(this, tr("Redo"));
  redo_->setShortcuts({QKeySequence("Ctrl+Shift+Z"), QKeySequence("Ctrl+Y")});
  for (auto [made, icon] : {std::pair{undo_, "undo"}, std::pair{redo_, "redo"}}) {
    made->setObjectName(icon);
    made->setIcon(themed_icon(icon));
    made->setProperty("icon_name", icon);
    addAction(made);
  }
  connect(open_, &QAction::triggered, this, &MainWindow::open);
  connect(save_, &QAction::triggered, this, &MainWindow::save);
  connect(save_as_, &QAction::triggered, this, &MainWindow::saveAs);
  connect(quit_, &QAction::triggered, this, &QWidget::close);
  connect(train_, &QAction::triggered, this, &MainWindow::train);
  connect(stop_, &QAction::triggered, &workspace_->run, &RunControl::stop);
  connect(mesh_, &QAction::triggered, this, &MainWindow::editMesh);
  connect(copy_, &QAction::triggered, this, &MainWindow::copy_plan);
  connect(find_, &QAction::triggered, this, [this] {
    parameters_dock_->show();
    parameters_dock_->raise();
    parameters_->focus_filter();
  });
}

void MainWindow::make_tool_bar() {
  QToolBar* bar = addToolBar(tr("Main"));
  bar->setObjectName("toolBar");
  bar->setMovable(false);
  bar->setIconSize({18, 18});
  bar->addActions({open_, save_});
  bar->addSeparator();
  bar->addActions({undo_, redo_});
  bar->addSeparator();
  bar->addActions({train_, stop_});
  for (QAction* made : {train_, stop_})
    if (auto* button = qobject_cast<QToolButton*>(bar->widgetForAction(made))) {
      button->setToolButtonStyle(Qt::ToolButtonTextBesideIcon);
      button->setObjectName(made->objectName() + "Button");
    }
  bar->addSeparator();
  mesh_bar_ = new MeshBar(*workspace_, bar);
  bar->addWidget(mesh_bar_);
  bar->addSeparator();

  mode_ = new QComboBox(bar);
  mode_->setObjectName("mode");
  mode_->addItems({tr("Layout: cheapest"), tr("Layout: as written")});
  mode_->setToolTip(
      tr("Layout mode. Cheapest: layouts that nobody pinned are chosen to move the fewest bytes without "
         "doing work twice. As written: they follow from the specs alone, as in JAX."));
  connect(mode_, &QComboBox::activated, this,
          [this](int i) { set_mode(workspace_->document, static_cast<LayoutMode>(i)); });
  bar->addWidget(mode_);
  preset_ = new QComboBox(bar);
  preset_->setObjectName("preset");
  preset_->setPlaceholderText(tr("Preset"));
  preset_->setToolTip(tr("Start from a run file that comes with the program."));
  for (const QString& name : preset_names()) preset_->addItem(name);
  preset_->setCurrentIndex(-1);
  preset_->setMinimumContentsLength(6);
  preset_->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
  connect(preset_, &QComboBox::activated, this, [this](int i) {
    if (may_discard()) open_preset(preset_->itemText(i));
    preset_->setCurrentIndex(-1);
  });
  bar->addWidget(preset_);
}

void MainWindow::fit_tool_bar() {
  const bool compact = width() < roomy_width;
  mesh_bar_->set_compact(compact);
  mode_->setItemText(0, compact ? tr("Cheapest") : tr("Layout: cheapest"));
  mode_->setItemText(1, compact ? tr("As written") : tr("Layout: as written"));
  if (auto* stop = findChild<QToolButton*>("stopButton"))
    stop->setToolButtonStyle(compact ? Qt::ToolButtonIconOnly : Qt::ToolButtonTextBesideIcon);
}

void MainWindow::choose_theme(ThemeChoice choice) {
  apply_theme(*qApp, choice);
  remember_theme(choice);
  for (QAction* each : findChildren<QAction*>())
    if (const QString icon = each->property("icon_name").toString(); !icon.isEmpty()) each->setIcon(themed_icon(icon));
  run_panel_->take_theme();
  workspace_->planner.request(workspace_->document.config());
}

void MainWindow::make_menus() {
  QMenu* file = menuBar()->addMenu(tr("&File"));
  file->addAction(open_);
  recent_ = new RecentFiles(file->addMenu(tr("Open &recent")));
  connect(recent_, &RecentFiles::chosen, this, [this](const QString& path) {
    if (may_discard()) open_file(path);
  });
  QMenu* presets = file->addMenu(tr("Open &preset"));
  for (const QString& name : preset_names())
    presets->addAction(name, this, [this, name] {
      if (may_discard()) open_preset(name);
    });
  file->addSeparator();
  file->addActions({save_, save_as_});
  file->addSeparator();
  file->addAction(quit_);

  QMenu* edit = menuBar()->addMenu(tr("&Edit"));
  edit->addActions({undo_, redo_});
  edit->addSeparator();
  edit->addActions({find_, copy_});

  QMenu* view = menuBar()->addMenu(tr("&View"));
  for (int i = 0; i < pages_->count(); ++i)
    view->addAction(pages_->tabText(i), QKeySequence(QString("Ctrl+%1").arg(i + 1)), this,
                    [this, i] { pages_->setCurrentIndex(i); });
  view->addSeparator();
  for (QDockWidget* made : docks_) view->addAction(made->toggleViewAction());
  view->addSeparator();
  QMenu* look = view->addMenu(tr("&Theme"));
  auto* group = new QActionGroup(look);
  const std::pair<QString, ThemeChoice> choices[] = {
      {tr("&System"), ThemeChoice::system}, {tr("&Light"), ThemeChoice::light}, {tr("&Dark"), ThemeChoice::dark}};
  for (const auto& [text, choice] : choices) {
    QAction* made = look->addAction(text);
    made->setCheckable(true);
    made->setChecked(choice == theme_choice());
    group->addAction(made);
    connect(made, &QAction::triggered, this, [this, choice = choice] { choose_theme(choice); });
  }

  QMenu* plan = menuBar()->addMenu(tr("&Plan"));
  plan->addAction(mesh_);
  for (const auto mode : {LayoutMode::cheapest, LayoutMode::as_written})
    plan->addAction(mode == LayoutMode::cheapest ? tr("Layout mode: &cheapest") : tr("Layout mode: as &written"),
                    QKeySequence(mode == LayoutMode::cheapest ? "Ctrl+Shift+1" : "Ctrl+Shift+2"), this,
                    [this, mode] { set_mode(workspace_->document, mode); });
  plan->addAction(tr("&Compare layout modes"), QKeySequence("Ctrl+Shift+L"), this,
                  [this] { show_page("collectives"); });
  plan->addSeparator();
  plan->addAction(tr("Show &problems"), QKeySequence("Ctrl+Shift+P"), this, [this] {
    problems_dock_->show();
    problems_dock_->raise();
    problems_->list()->setFocus(Qt::ShortcutFocusReason);
  });

  QMenu* run = menuBar()->addMenu(tr("&Run"));
  run->addActions({train_, stop_});

  QMenu* help = menuBar()->addMenu(tr("&Help"));
  help->addAction(tr("&About Shardscope"), this, [this] {
    QMessageBox::about(this, tr("About Shardscope"),
                       tr("<b>Shardscope</b><p>Design how a neural network is split over a device mesh, see what that "
                          "means, and train that very plan on MPI ranks.</p>"));
  });
}

}  // namespace shardscope
