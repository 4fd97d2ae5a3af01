#include "gui/window/window.h"

#include <QApplication>
#include <QClipboard>
#include <QCloseEvent>
#include <QDragEnterEvent>
#include <QFileDialog>
#include <QMessageBox>
#include <QMimeData>
#include <QSettings>
#include <QVBoxLayout>

#include "engine/config/write.h"
#include "gui/document/edits.h"
#include "gui/document/text.h"
#include "gui/look/appearance.h"
#include "gui/pages/mode_comparison.h"
#include "gui/panels/mesh_dialog.h"
#include "gui/window/presets.h"
#include "gui/window/recent_files.h"
#include "gui/workspace/array_facts.h"

namespace shardscope {
namespace {

const QString geometry_key = "window/geometry", docks_key = "window/docks";
const QString file_filter = QObject::tr("Run files (*.json);;All files (*)");

}  // namespace

MainWindow::MainWindow(PlanSource source, const QString& shardrun, QWidget* parent)
    : QMainWindow(parent), workspace_(std::make_unique<Workspace>(std::move(source), shardrun)) {
  setObjectName("mainWindow");
  setAcceptDrops(true);
  setDockNestingEnabled(true);
  make_pages();
  make_docks();
  make_actions();
  make_tool_bar();
  make_menus();
  verdict_ = new Verdict(*workspace_, statusBar());
  statusBar()->setSizeGripEnabled(false);

  connect(&workspace_->document, &Document::titleChanged, this, &MainWindow::refresh_title);
  connect(&workspace_->document, &Document::configChanged, this, [this] {
    const QSignalBlocker block(mode_);
    mode_->setCurrentIndex(static_cast<int>(workspace_->document.config().sharding.mode));
  });
  connect(&workspace_->planner, &Planner::delivered, this, [this] {
    refresh_banner();
    refresh_run();
    choose_first_array();
    workspace_->selection.select_step(std::nullopt);
  });
  connect(&workspace_->run, &RunControl::stateChanged, this, &MainWindow::refresh_run);
  connect(problems_, &ProblemsPanel::activated, this, &MainWindow::focus_place);
  connect(run_panel_, &RunPanel::startWanted, this, &MainWindow::train);
  refresh_title();
  refresh_banner();
  refresh_run();
  parameters_->tree()->setFocus();
  resize(1280, 800);
}

bool MainWindow::open_file(const QString& path) {
  try {
    workspace_->document.load(path);
  } catch (const Failure& failure) {
    problems_->show_file_errors(failure.errors());
    problems_dock_->show();
    problems_dock_->raise();
    statusBar()->showMessage(tr("%1 could not be read").arg(path), 8000);
    return false;
  }
  recent_->add(path);
  return true;
}

void MainWindow::open_preset(const QString& name) {
  try {
    workspace_->document.reset(load_preset(name), {}, name + ".json");
  } catch (const Failure& failure) {
    problems_->show_file_errors(failure.errors());
    problems_dock_->raise();
  }
}

bool MainWindow::is_settled() const {
  return !workspace_->planner.is_busy() && !findChild<ModeComparison*>()->is_busy();
}

bool MainWindow::show_page(const QString& name) {
  for (int i = 0; i < pages_->count(); ++i)
    if (pages_->tabText(i).remove('&').compare(name, Qt::CaseInsensitive) == 0) {
      pages_->setCurrentIndex(i);
      return true;
    }
  return false;
}

void MainWindow::choose_first_array() {
  const auto& parameters = workspace_->planner.parameters();
  if (parameters.empty() || array_facts(*workspace_, workspace_->selection.array())) return;
  workspace_->selection.select_array(ParameterRef{parameters.front().path});
}

void MainWindow::open() {
  if (!may_discard()) return;
  const QString path =
      QFileDialog::getOpenFileName(this, tr("Open run file"), workspace_->document.path(), file_filter);
  if (!path.isEmpty()) open_file(path);
}

bool MainWindow::save() {
  return workspace_->document.path().isEmpty() ? saveAs() : write(workspace_->document.path());
}

bool MainWindow::saveAs() {
  QFileDialog dialog(this, tr("Save run file"), workspace_->document.path(), file_filter);
  dialog.setAcceptMode(QFileDialog::AcceptSave);
  dialog.setDefaultSuffix("json");
  dialog.selectFile(workspace_->document.title());
  return dialog.exec() == QDialog::Accepted && write(dialog.selectedFiles().value(0));
}

bool MainWindow::write(const QString& path) {
  try {
    workspace_->document.save(path);
  } catch (const Failure& failure) {
    QMessageBox::warning(this, tr("Not saved"), QString::fromUtf8(failure.what()));
    return false;
  }
  recent_->add(path);
  statusBar()->showMessage(tr("Saved %1").arg(path), 4000);
  return true;
}

bool MainWindow::may_discard() {
  if (!workspace_->document.is_modified()) return true;
  const auto answer = QMessageBox::question(
      this, tr("Unsaved changes"), tr("%1 has unsaved changes.").arg(workspace_->document.title()),
      QMessageBox::Save | QMessageBox::Discard | QMessageBox::Cancel, QMessageBox::Save);
  if (answer == QMessageBox::Save) return save();
  return answer == QMessageBox::Discard;
}

void MainWindow::train() {
  if (!workspace_->planner.is_current()) {
    statusBar()->showMessage(tr("The plan has problems; training needs a legal plan."), 6000);
    return;
  }
  run_dock_->show();
  run_dock_->raise();
  workspace_->run.start(workspace_->planner.plan());
}

void MainWindow::editMesh() {
  MeshDialog dialog(workspace_->document.config().mesh_axes, this);
  if (dialog.exec() == QDialog::Accepted) set_mesh_axes(workspace_->document, dialog.axes());
}

void MainWindow::copy_plan() {
  QStringList lines{verdict_->text(), {}};
  if (const std::shared_ptr<const Plan> plan = workspace_->planner.plan()) lines << qt(write_run_config(plan->config));
  QApplication::clipboard()->setText(lines.join('\n'));
}

void MainWindow::refresh_title() {
  setWindowModified(workspace_->document.is_modified());
  setWindowTitle(tr("%1[*] \u2013 Shardscope").arg(workspace_->document.title()));
  setWindowFilePath(workspace_->document.path());
}

void MainWindow::refresh_banner() {
  const std::vector<Error>& errors = workspace_->planner.errors();
  banner_->setVisible(!errors.empty());
  if (errors.empty()) return;
  const Error& first = errors.front();
  QString text = QString("<b>%1</b>").arg(qt(first.message).toHtmlEscaped());
  if (!first.where.empty()) text.prepend(qt(first.where).toHtmlEscaped() + ": ");
  if (!first.hint.empty()) text += " \u2014 " + qt(first.hint).toHtmlEscaped();
  if (errors.size() > 1) text += tr(" (and %1 more)").arg(errors.size() - 1);
  if (workspace_->planner.plan()) text += tr("<br>The views show the last good plan.");
  banner_->setText(text);
}

void MainWindow::refresh_run() {
  const bool active = workspace_->run.is_active();
  train_->setEnabled(!active && workspace_->planner.is_current());
  stop_->setEnabled(active);
}

void MainWindow::focus_place(const QString& place) {
  const QString inside = place.section(' ', -1);  // behind the file and the line
  if (mesh_bar_->focus_place(inside)) return;
  if (parameters_->focus_place(inside)) {
    parameters_dock_->show();
    parameters_dock_->raise();
    return;
  }
  settings_dock_->show();
  settings_dock_->raise();
  settings_->focus_place(inside);
}

void MainWindow::showEvent(QShowEvent* event) {
  QMainWindow::showEvent(event);
  // The docks take their share of the window's size until a person has sized them.
  if (!std::exchange(arranged_, true)) arrange_docks();
}

bool MainWindow::event(QEvent* event) {
  if (event->type() == QEvent::MouseButtonPress) pressed_sizes_ = dock_sizes();
  const bool handled = QMainWindow::event(event);
  if (event->type() == QEvent::MouseButtonRelease && dock_sizes() != pressed_sizes_) sized_by_hand_ = true;
  return handled;
}

void MainWindow::resizeEvent(QResizeEvent* event) {
  QMainWindow::resizeEvent(event);
  fit_tool_bar();
  if (arranged_ && !sized_by_hand_) arrange_docks();
}

void MainWindow::remember_arrangement() {
  remembers_ = true;
  const QSettings settings;
  restoreGeometry(settings.value(geometry_key).toByteArray());
  arranged_ = sized_by_hand_ = restoreState(settings.value(docks_key).toByteArray());
}

void MainWindow::closeEvent(QCloseEvent* event) {
  if (workspace_->run.is_active()) {
    const auto answer =
        QMessageBox::question(this, tr("Training is running"), tr("Closing the window stops the training run."),
                              QMessageBox::Close | QMessageBox::Cancel, QMessageBox::Cancel);
    if (answer != QMessageBox::Close) return event->ignore();
  }
  if (!may_discard()) return event->ignore();
  workspace_->run.end_now();
  if (remembers_) {
    QSettings settings;
    settings.setValue(geometry_key, saveGeometry());
    settings.setValue(docks_key, saveState());
  }
  event->accept();
}

void MainWindow::dragEnterEvent(QDragEnterEvent* event) {
  const QList<QUrl> urls = event->mimeData()->urls();
  if (urls.size() == 1 && urls.front().isLocalFile()) event->acceptProposedAction();
}

void MainWindow::dropEvent(QDropEvent* event) {
  const QString path = event->mimeData()->urls().value(0).toLocalFile();
  if (!path.isEmpty() && may_discard()) open_file(path);
}

}  // namespace shardscope
