#include "gui/window/window.h"

#include <QApplication>
#include <QClipboard>
#include <QCloseEvent>
#include <QDragEnterEvent>
#include <QMimeData>
#include <QPointer>
#include <QSettings>
#include <utility>

#include "gui/compare/compare_page.h"
#include "gui/document/edits.h"
#include "gui/document/text.h"
#include "gui/pages/memory_page.h"
#include "gui/panels/mesh_dialog.h"
#include "gui/search/search_page.h"
#include "gui/window/about_dialog.h"
#include "gui/window/file_bar.h"
#include "gui/window/last_session.h"
#include "gui/window/menus.h"
#include "gui/window/restore_edits.h"
#include "gui/window/shortcut_list.h"
#include "gui/window/tour_stops.h"
#include "gui/workspace/array_facts.h"

namespace shardscope {
namespace {

const QString geometry_key = "window/geometry", docks_key = "window/docks", sized_key = "window/docksSized";

}  // namespace

MainWindow::MainWindow(PlanSource source, const QString& shardrun, QWidget* parent)
    : QMainWindow(parent),
      shardrun_(shardrun),
      workspace_(std::make_unique<Workspace>(std::move(source), shardrun)),
      resumed_start_(workspace_->run, *this),
      run_prompts_(*workspace_, *this),
      actions_(*this, workspace_->document.undo_stack()),
      files_(workspace_->document, *this, [this] { end_edit(); }),
      centre_(new Centre(*workspace_, this)),
      docks_(*this, *workspace_),
      exports_(*workspace_, *centre_, *this),
      socket_watch_(*workspace_, files_, *this),
      tool_bar_(new ToolBar(actions_, *workspace_, this)),
      verdict_(new Verdict(*workspace_, statusBar())),
      notice_(new Notice(*centre_)),
      palette_(new CommandPalette(*this, *workspace_)),
      tour_(new Tour(*this, tour_stops(*tool_bar_, *centre_, docks_, *statusBar()),
                     [this] { return arrangement(*centre_, docks_); })) {
  setObjectName("mainWindow");
  setAcceptDrops(true);
  setCentralWidget(centre_);
  addToolBar(tool_bar_);
  addToolBarBreak();
  addToolBar(tool_bar_->second_line());
  addToolBarBreak();
  addToolBar(tool_bar_->strategy_line());
  make_menus(*menuBar(), actions_, workspace_->document, files_, *centre_, docks_);
  statusBar()->setSizeGripEnabled(false);
  centre_->offer({actions_.export_as, actions_.copy_picture, actions_.copy_layout});
  centre_->show_problems(mesh_bar()->legal_sizes());
  new FileBar(workspace_->document, files_, centre_->problems(), centre_);
  connect_actions();
  connect_workspace();
  refresh_title();
  refresh_run();
  docks_.parameters()->tree()->setFocus();
  resize(1280, 800);
  docks_.bottom()->set_collapsed(true);
}

// A field that has the keyboard ends its edit when it is hidden: here the document is still there. What it says while
// it ends is not received.
MainWindow::~MainWindow() {
  hide();
  disconnect(&workspace_->document, nullptr, this, nullptr);
}

void MainWindow::end_edit() {
  const QPointer<QWidget> field = focusWidget();
  if (!field) return;
  QWidget* around = field->parentWidget();
  field->clearFocus();
  if (field && field->isVisible()) return field->setFocus(Qt::OtherFocusReason);
  if (around && around->isVisible()) around->setFocus(Qt::OtherFocusReason);  // its editor has gone
}

void MainWindow::connect_actions() {
  connect(actions_.new_run, &QAction::triggered, &files_, &Files::choose_new);
  connect(actions_.palette, &QAction::triggered, palette_, &CommandPalette::open);
  connect(actions_.shortcuts, &QAction::triggered, this, [this] { ShortcutList(*this).exec(); });
  connect(actions_.help, &QAction::triggered, this, &MainWindow::show_help);
  connect(actions_.tour, &QAction::triggered, tour_, &Tour::start);
  connect(actions_.about, &QAction::triggered, this, [this] { show_about(this, shardrun_); });
  connect(actions_.bottom, &QAction::triggered, this,
          [this] { docks_.bottom()->set_collapsed(!docks_.bottom()->is_collapsed()); });
  connect(actions_.pin, &QAction::triggered, this, &MainWindow::pin_plan);
  connect(actions_.sweep, &QAction::triggered, this, [this] {
    centre_->page<ComparePage>()->sweep();
    centre_->enter_page("compare");
  });
  connect(actions_.search, &QAction::triggered, this, [this] {
    centre_->enter_page("search");
    auto* page = centre_->page<SearchPage>();
    if (!page->search().is_running()) page->start();
  });
  connect(centre_->page<MemoryPage>(), &MemoryPage::searchWanted, this, [this](int64_t devices) {
    centre_->show_page("search");
    centre_->page<SearchPage>()->start_on(devices);
  });
  for (const auto& [action, by] : {std::pair(actions_.next_problem, 1), std::pair(actions_.previous_problem, -1)})
    connect(action, &QAction::triggered, this, [this, by = by] {
      const QString problem = docks_.problems()->go(by);
      notice_->say(problem.isEmpty() ? tr("There are no problems.") : problem);
    });
  connect(centre_->page<SearchPage>(), &SearchPage::reported, notice_, &Notice::say);
  connect(actions_.open, &QAction::triggered, &files_, &Files::choose_file);
  connect(actions_.save, &QAction::triggered, &files_, &Files::save);
  connect(actions_.save_as, &QAction::triggered, &files_, &Files::save_as);
  connect(actions_.reload, &QAction::triggered, &files_, &Files::reload);
  connect(actions_.quit, &QAction::triggered, this, &QWidget::close);
  connect(actions_.train, &QAction::triggered, this, &MainWindow::train);
  connect(actions_.stop, &QAction::triggered, &run_prompts_, &RunPrompts::stop);
  connect(actions_.pause, &QAction::triggered, &workspace_->run, &RunControl::toggle_pause);
  connect(actions_.detach, &QAction::triggered, &run_prompts_, &RunPrompts::detach);
  connect(&run_prompts_, &RunPrompts::reported, notice_, &Notice::say);
  connect(palette_, &CommandPalette::placeWanted, this, &MainWindow::focus_place);
  connect(actions_.attach, &QAction::triggered, &socket_watch_, &SocketWatch::choose);
  connect(&socket_watch_, &SocketWatch::attached, this, [this] { docks_.show(docks_.run()); });
  connect(&socket_watch_, &SocketWatch::reported, notice_, &Notice::say);
  connect(&socket_watch_, &SocketWatch::faulty, this, [this](const std::vector<Error>& errors) {
    docks_.problems()->show_file_errors(errors);
    docks_.show(docks_.problems());
    notice_->say(qt(errors.front().message));
  });
  connect(actions_.mesh, &QAction::triggered, this, &MainWindow::editMesh);
  connect(actions_.export_as, &QAction::triggered, this, [this] {
    end_edit();
    exports_.choose();
  });
  connect(actions_.import_specs, &QAction::triggered, &exports_, &Exports::choose_specs);
  connect(actions_.copy_picture, &QAction::triggered, &exports_, &Exports::copy_picture);
  connect(actions_.copy_layout, &QAction::triggered, &exports_, &Exports::copy_layout);
  connect(&exports_, &Exports::reported, notice_, &Notice::say);
  connect(actions_.copy, &QAction::triggered, this, &MainWindow::copy_plan);
  connect(actions_.find, &QAction::triggered, this, [this] {
    docks_.show(docks_.parameters());
    docks_.parameters()->focus_filter();
  });
  connect(tool_bar_, &ToolBar::presetChosen, &files_, &Files::replace_by_preset);
  connect(centre_, &Centre::problemsWanted, this, [this] { docks_.show(docks_.problems()); });
  connect(docks_.problems(), &ProblemsPanel::activated, this, &MainWindow::focus_place);
  connect(docks_.run(), &RunPanel::startWanted, this, &MainWindow::train);
  connect(docks_.run(), &RunPanel::resumeWanted, this, &MainWindow::train_from);
}

void MainWindow::connect_workspace() {
  connect(&files_, &Files::unreadable, this, &MainWindow::show_unreadable);
  connect(&files_, &Files::saved, this, [this](const QString& path) { notice_->say(tr("Saved %1").arg(path)); });
  connect(&files_, &Files::reloaded, this, [this](const QString& path, bool had_edits) {
    notice_->say(had_edits ? tr("Reloaded %1; Undo brings back what was not saved").arg(path)
                           : tr("Reloaded %1").arg(path));
  });
  connect(&workspace_->document, &Document::reported, notice_, &Notice::say);
  connect(&workspace_->document, &Document::titleChanged, this, &MainWindow::refresh_title);
  connect(&workspace_->run, &RunControl::stateChanged, this, &MainWindow::refresh_run);
  connect(&workspace_->planner, &Planner::delivered, this, [this] {
    refresh_run();
    select_first_array(*workspace_);
    workspace_->selection.select_step(std::nullopt);
    if (const auto checkpoint = std::exchange(waiting_to_train_, std::nullopt)) train_from(*checkpoint);
  });
  connect(&workspace_->document, &Document::replaced, this, [this] { waiting_to_train_.reset(); });
}

void MainWindow::pin_plan() {
  const int place = centre_->pins().pin();
  notice_->say(
      place >= 0
          ? tr("Pinned as plan %1; the page Compare has it beside the shown one").arg(centre_->pins().name(place))
          : tr("This plan is pinned already, or there is none"));
}

bool MainWindow::keep_session(const QString& folder) {
  session_ = std::make_unique<SessionKeeper>(workspace_->document, folder);
  return offer_left_edits(*session_, workspace_->document, this);
}

void MainWindow::remember_open() const {
  const QTabWidget* pages = centre_->pages();
  remember_session({workspace_->document.path(), pages->tabText(pages->currentIndex()).remove('&'),
                    name_of(workspace_->selection.array())});
}

bool MainWindow::restore_session() {
  const LastSession session = last_session();
  if (session.path.isEmpty() || !files_.open_file(session.path)) return false;
  centre_->show_page(session.page);
  connect(
      &workspace_->planner, &Planner::delivered, this,
      [this, name = session.array] {
        if (const auto array = find_array(workspace_->planner, name)) workspace_->selection.select_array(*array);
      },
      Qt::SingleShotConnection);
  return true;
}

bool MainWindow::is_settled() const { return !workspace_->planner.is_busy() && centre_->is_settled(); }

void MainWindow::show_unreadable(const QString& name, const std::vector<Error>& errors) {
  docks_.problems()->show_file_errors(errors);
  docks_.show(docks_.problems());
  notice_->say(tr("%1 could not be read").arg(name));
}

void MainWindow::train() { train_from({}); }

void MainWindow::train_from(const QString& checkpoint) {
  end_edit();
  if (workspace_->planner.is_busy()) {
    waiting_to_train_ = checkpoint;
    return notice_->say(tr("Training begins as soon as the plan is made."));
  }
  if (!workspace_->planner.is_current()) {
    notice_->say(tr("The plan has problems; training needs a legal plan."));
    return;
  }
  if (!run_prompts_.may_exceed_memory()) return;
  docks_.show(docks_.run());
  if (checkpoint.isEmpty()) workspace_->run.start(workspace_->planner.plan());
  else resumed_start_.start(workspace_->planner.plan(), checkpoint);
}

void MainWindow::editMesh() {
  MeshDialog dialog(workspace_->document.config(), this);
  if (dialog.exec() != QDialog::Accepted) return;
  set_mesh_axes(workspace_->document, dialog.axes(), dialog.names_before(), dialog.devices(),
                HostsEdit{dialog.hosts(), dialog.network()});
}

// Of what has the keyboard; where nothing that is seen has it, of the page.
void MainWindow::show_help() {
  const QWidget* focus = focusWidget();
  const QString chapter = help_chapter_of(focus && focus->isVisible() ? focus : centre_->pages()->currentWidget());
  if (!help_) help_ = new HelpWindow(this);
  help_->open_chapter("guide.md", chapter);
  help_->show();
  help_->raise();
  help_->activateWindow();
}

void MainWindow::copy_plan() {
  QStringList lines{verdict_->text(), {}};
  if (const std::shared_ptr<const Plan> plan = workspace_->planner.plan()) lines << qt(plan->run_file);
  QApplication::clipboard()->setText(lines.join('\n'));
}

void MainWindow::refresh_title() {
  setWindowModified(workspace_->document.is_modified());
  setWindowTitle(tr("%1[*] \u2013 Shardscope").arg(workspace_->document.title()));
  setWindowFilePath(workspace_->document.path());
  actions_.reload->setEnabled(!workspace_->document.path().isEmpty());
  if (remembers_) remember_open();
}

void MainWindow::refresh_run() {
  const bool active = workspace_->run.is_active();
  actions_.train->setEnabled(!active && workspace_->planner.is_current());
  actions_.stop->setEnabled(active);
  actions_.attach->setEnabled(!active);
  const RunControl& run = workspace_->run;
  actions_.pause->setEnabled(run.can_pause());
  actions_.pause->setText(run.is_paused() ? tr("Resu&me") : tr("&Pause"));
  actions_.detach->setEnabled(active && (keeps_history_ || run.is_attached()));
}

// What is being typed is for the array that is selected now.
void MainWindow::focus_place(const QString& place) {
  if (QWidget* field = focusWidget()) field->clearFocus();
  if (!mesh_bar()->focus_place(place) && !tool_bar_->strategy_bar()->focus_place(place)) docks_.focus_place(place);
}

// A folder of another machine tells nothing of what happens in it.
void MainWindow::changeEvent(QEvent* event) {
  QMainWindow::changeEvent(event);
  if (event->type() == QEvent::ActivationChange && isActiveWindow()) files_.watch().check();
}

void MainWindow::showEvent(QShowEvent* event) {
  QMainWindow::showEvent(event);
  docks_.take_share();
  docks_.bottom()->find_tabs();
}

void MainWindow::resizeEvent(QResizeEvent* event) {
  QMainWindow::resizeEvent(event);
  tool_bar_->fit_to(width());
  docks_.take_share();
}

// What nothing else has taken: a click on an empty place.
void MainWindow::mousePressEvent(QMouseEvent* event) {
  if (QWidget* field = focusWidget()) field->clearFocus();
  QMainWindow::mousePressEvent(event);
}

void MainWindow::remember_arrangement() {
  remembers_ = true;
  const QSettings settings;
  restoreGeometry(settings.value(geometry_key).toByteArray());
  if (restoreState(settings.value(docks_key).toByteArray()) && settings.value(sized_key).toBool()) docks_.keep_sizes();
}

void MainWindow::closeEvent(QCloseEvent* event) {
  if (!files_.may_discard() || !run_prompts_.may_end_run(keeps_history_)) return event->ignore();
  if (session_) session_->forget_own();
  session_.reset();
  if (remembers_) {
    remember_open();
    QSettings settings;
    settings.setValue(geometry_key, saveGeometry());
    settings.setValue(docks_key, saveState());
    settings.setValue(sized_key, docks_.keeps_sizes());
  }
  event->accept();
}

void MainWindow::keep_history() {
  keeps_history_ = true;
  connect(&workspace_->document, &Document::titleChanged, this, &MainWindow::take_history);
  connect(&files_, &Files::draftSaved, this, [this](const QString& title) {
    const RunStore store = workspace_->run.store();
    store.take_over(RunStore::of({}, title), workspace_->run.stored().id);
    docks_.run()->set_store(store);
  });
  connect(docks_.run(), &RunPanel::runFound, this, [this] {
    docks_.show(docks_.run());
    notice_->say(tr("A run of this file goes on: Attach in the panel Run watches it."));
  });
  take_history();
}

void MainWindow::take_history() {
  const RunStore store = RunStore::of(workspace_->document.path(), workspace_->document.title());
  if (store.folder() != workspace_->run.store().folder()) docks_.run()->set_store(store);
}

void MainWindow::dragEnterEvent(QDragEnterEvent* event) {
  const QList<QUrl> urls = event->mimeData()->urls();
  if (urls.size() == 1 && urls.front().isLocalFile()) event->acceptProposedAction();
}

void MainWindow::dropEvent(QDropEvent* event) {
  const QString path = event->mimeData()->urls().value(0).toLocalFile();
  if (!path.isEmpty()) files_.replace_by_file(path);
}

}  // namespace shardscope
