#include "gui/window/docks.h"

#include <QEvent>
#include <algorithm>

#include "gui/help/guide.h"

namespace shardscope {

Docks::Docks(QMainWindow& window, Workspace& workspace)
    : window_(window),
      parameters_(new ParametersPanel(workspace)),
      settings_(new SettingsPanel(workspace)),
      inspector_(new InspectorPanel(workspace)),
      problems_(new ProblemsPanel(workspace)),
      rules_(new RulesPanel(workspace)),
      run_(new RunPanel(workspace.run, workspace.planner, workspace.selection)) {
  window.setDockNestingEnabled(true);
  window.setCorner(Qt::BottomRightCorner, Qt::BottomDockWidgetArea);
  window.setCorner(Qt::BottomLeftCorner, Qt::BottomDockWidgetArea);
  window.setTabPosition(Qt::AllDockWidgetAreas, QTabWidget::North);
  left_ = add("parameters", tr("Parameters"), parameters_, Qt::LeftDockWidgetArea);
  window.tabifyDockWidget(left_, add("settings", tr("Settings"), settings_, Qt::LeftDockWidgetArea));
  right_ = add("inspector", tr("Inspector"), inspector_, Qt::RightDockWidgetArea);
  bottom_ = add("run", tr("Run"), run_, Qt::BottomDockWidgetArea);
  QDockWidget* problems = add("problems", tr("Problems"), problems_, Qt::BottomDockWidgetArea);
  window.tabifyDockWidget(bottom_, problems);
  QDockWidget* rules = add("rules", tr("Rules"), rules_, Qt::BottomDockWidgetArea);
  window.tabifyDockWidget(problems, rules);
  for (QWidget* panel : {static_cast<QWidget*>(parameters_), static_cast<QWidget*>(settings_)})
    set_help_chapter(panel, "editing");
  for (QWidget* panel : {static_cast<QWidget*>(problems_), static_cast<QWidget*>(rules_)})
    set_help_chapter(panel, "problems-and-rules");
  set_help_chapter(run_, "run");
  below_ = new BottomPanel(window, {bottom_, problems, rules});
  left_->raise();
  bottom_->raise();
  connect(problems_, &ProblemsPanel::countChanged, problems, [problems](int errors, int warnings) {
    const int count = errors + warnings;
    problems->setWindowTitle(count == 0 ? tr("Problems") : tr("Problems (%1)").arg(count));
  });
  connect(below_, &BottomPanel::collapsedChanged, this, [this](bool collapsed) {
    if (!collapsed) take_share();
  });
  connect(&workspace.run, &RunControl::stateChanged, this, [this, &workspace] {
    if (workspace.run.is_active()) below_->set_collapsed(false);
  });
  connect(parameters_->spec_actions(), &SpecActions::ruleAdded, this, &Docks::focus_place);
  window.installEventFilter(this);
}

QDockWidget* Docks::add(const QString& name, const QString& title, QWidget* panel, Qt::DockWidgetArea area) {
  auto* made = new QDockWidget(title, &window_);
  made->setObjectName(name);
  made->setWidget(panel);
  made->setFeatures(QDockWidget::DockWidgetClosable | QDockWidget::DockWidgetMovable);
  made->setTitleBarWidget(new QWidget(made));  // tabs and the View menu name the docks
  window_.addDockWidget(area, made);
  docks_.push_back(made);
  return made;
}

void Docks::show(QWidget* panel) {
  for (QDockWidget* dock : docks_)
    if (dock->widget() == panel) {
      dock->show();
      dock->raise();
      if (window_.dockWidgetArea(dock) == Qt::BottomDockWidgetArea) below_->set_collapsed(false);
    }
}

void Docks::focus_place(const QString& place) {
  if (parameters_->focus_place(place)) return show(parameters_);
  if (place.startsWith("sharding.rules") || place.startsWith("sharding.constraints")) {
    show(rules_);
    if (rules_->focus_place(place)) return;
  }
  show(settings_);
  settings_->focus_place(place);
}

std::array<int, 3> Docks::sizes() const { return {left_->width(), right_->width(), bottom_->height()}; }

void Docks::take_share() {
  if (keeps_sizes_) return;
  const QSize room = window_.size();
  window_.resizeDocks({left_, right_},
                      {std::clamp(room.width() * 29 / 100, 230, 380), std::clamp(room.width() / 5, 190, 320)},
                      Qt::Horizontal);
  window_.resizeDocks({bottom_}, {std::clamp(room.height() / 4, 120, 260)}, Qt::Vertical);
}

bool Docks::eventFilter(QObject* watched, QEvent* event) {
  switch (event->type()) {
    case QEvent::MouseButtonPress: pressed_sizes_ = sizes(); break;
    case QEvent::MouseButtonRelease: keeps_sizes_ |= sizes() != pressed_sizes_; break;
    default: break;
  }
  return QObject::eventFilter(watched, event);
}

}  // namespace shardscope
