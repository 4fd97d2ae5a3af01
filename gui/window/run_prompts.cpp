#include "gui/window/run_prompts.h"

#include <QEventLoop>
#include <QMessageBox>
#include <QPushButton>
#include <optional>

#include "gui/document/faults.h"

namespace shardscope {

RunPrompts::RunPrompts(Workspace& workspace, QWidget& window) : workspace_(workspace), window_(window) {}

bool RunPrompts::may_exceed_memory() {
  const std::vector<Error> excess = memory_excess(*workspace_.planner.plan());
  if (excess.empty()) return true;
  QMessageBox box(QMessageBox::Warning, tr("Too large"), errors_text(excess), QMessageBox::NoButton, &window_);
  box.setInformativeText(tr("Training it can make this machine swap, or end in ranks that are killed."));
  const QPushButton* anyway = box.addButton(tr("&Train anyway"), QMessageBox::AcceptRole);
  box.setDefaultButton(box.addButton(QMessageBox::Cancel));
  box.exec();
  return box.clickedButton() == anyway;
}

bool RunPrompts::may_end_run(bool is_recorded) {
  RunControl& run = workspace_.run;
  if (!run.is_active()) return true;
  QMessageBox box(QMessageBox::Question, tr("Training is running"),
                  tr("Closing the window stops the training run, unless it is to go on without a window."),
                  QMessageBox::Close | QMessageBox::Cancel, &window_);
  box.button(QMessageBox::Close)->setText(tr("&Stop training"));
  const QPushButton* proceed = nullptr;
  if (is_recorded || run.is_attached())
    proceed = box.addButton(tr("&Continue without a window"), QMessageBox::AcceptRole);
  box.setDefaultButton(QMessageBox::Cancel);
  when_ended(box, [&] { box.accept(); });
  box.exec();
  if (!box.clickedButton()) return !run.is_active();
  if (proceed && box.clickedButton() == proceed) {
    std::optional<bool> is_left;
    QEventLoop answering;
    connect(&run, &RunControl::leaveAnswered, &answering, [&](bool answer) {
      is_left = answer;
      answering.quit();
    });
    when_ended(answering, [&] { answering.quit(); });
    detach();
    if (!is_left && run.is_active()) answering.exec(QEventLoop::ExcludeUserInputEvents);
    return is_left.value_or(false) || !run.is_active();
  }
  if (box.standardButton(box.clickedButton()) != QMessageBox::Close) return false;
  return ends();
}

void RunPrompts::stop() {
  RunControl& run = workspace_.run;
  if (!run.is_attached() || !run.is_active() || run.state() == RunControl::State::stopping) return run.stop();
  QMessageBox box(QMessageBox::Question, tr("Stop the run?"),
                  tr("This run was started elsewhere. Stop ends it for everybody; Detach lets it go on."),
                  QMessageBox::Cancel, &window_);
  box.setObjectName("stopAttached");
  const QPushButton* stop = box.addButton(tr("&Stop the run"), QMessageBox::DestructiveRole);
  const QPushButton* leave = box.addButton(tr("&Detach"), QMessageBox::AcceptRole);
  box.setDefaultButton(QMessageBox::Cancel);
  box.exec();
  if (box.clickedButton() == leave) detach();
  if (box.clickedButton() == stop) run.stop();
}

void RunPrompts::detach() {
  RunControl& run = workspace_.run;
  if (!run.is_active()) return;
  const auto say = [this](bool is_left) {
    emit reported(is_left ? tr("The run goes on without this window.")
                          : tr("The run does not answer; it has not begun yet. Try again."));
  };
  connect(&run, &RunControl::leaveAnswered, this, say, Qt::SingleShotConnection);
  run.leave();
}

void RunPrompts::when_ended(QObject& context, const std::function<void()>& act) {
  connect(&workspace_.run, &RunControl::stateChanged, &context, [this, act] {
    if (!workspace_.run.is_active()) act();
  });
}

// The step that it is in, and its last checkpoint, may take long: the window stays and says so.
bool RunPrompts::ends() {
  RunControl& run = workspace_.run;
  if (run.state() != RunControl::State::stopping) run.stop();
  QMessageBox box(QMessageBox::Information, tr("Stopping"),
                  tr("The run stops after this step and its last checkpoint."), QMessageBox::NoButton, &window_);
  box.setObjectName("stopping");
  box.setInformativeText(tr("The window closes when it has ended."));
  QPushButton* at_once = box.addButton(tr("&End at once"), QMessageBox::DestructiveRole);
  QPushButton* keep = box.addButton(tr("&Keep the window"), QMessageBox::RejectRole);
  box.setDefaultButton(keep);
  box.setEscapeButton(keep);
  disconnect(at_once, &QPushButton::clicked, nullptr, nullptr);  // the box stays
  connect(at_once, &QPushButton::clicked, &box, [&] {
    at_once->setEnabled(false);
    box.setText(tr("The run is ended at once."));
    run.stop();
  });
  when_ended(box, [&] { box.accept(); });
  if (run.is_active()) box.exec();
  return !run.is_active();
}

}  // namespace shardscope
