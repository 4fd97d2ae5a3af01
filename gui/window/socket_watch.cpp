#include "gui/window/socket_watch.h"

#include <utility>

#include "engine/config/parse.h"
#include "engine/machine/chosen_machine.h"
#include "engine/machine/machine_file.h"
#include "gui/document/text.h"
#include "gui/run/socket_errors.h"
#include "gui/window/attach_dialog.h"

namespace shardscope {

SocketWatch::SocketWatch(Workspace& workspace, Files& files, QWidget& window)
    : QObject(&window), workspace_(workspace), files_(files), window_(window) {
  connect(&workspace.run, &RunControl::greeted, this, &SocketWatch::take_hello, Qt::QueuedConnection);
  connect(&workspace.planner, &Planner::delivered, this, &SocketWatch::take_plan);
}

void SocketWatch::choose() {
  if (workspace_.run.is_active()) return;
  AttachDialog dialog(path_, &window_);
  if (dialog.exec() == QDialog::Accepted) attach(dialog.path());
}

void SocketWatch::attach(const QString& path) {
  if (workspace_.run.is_active()) return emit reported(tr("A run is being watched already."));
  if (const std::vector<Error> errors = socket_errors(path); !errors.empty()) return emit faulty(errors);
  path_ = path;
  workspace_.run.attach(path);
  emit attached();
}

void SocketWatch::take_hello() {
  if (!workspace_.run.is_attached() || !workspace_.run.record().hello) return;
  const HelloMessage& hello = *workspace_.run.record().hello;
  const std::shared_ptr<const Plan> shown = workspace_.planner.plan();
  if (workspace_.planner.is_current() && shown->hash == hello.plan_hash) return workspace_.run.take_plan(shown);
  reading_.make([hello, path = path_.toStdString()](const std::stop_token&) { return read(hello, path); });
}

SocketWatch::Reported SocketWatch::read(const HelloMessage& hello, const std::string& path) {
  Reported reported;
  try {
    reported.config = parse_run_config(hello.config_json, path);
    if (!hello.machine_json.empty()) reported.config.machine = machine_choice(parse_machine(hello.machine_json, path));
  } catch (const Failure& failure) {
    reported.errors = failure.errors();
  }
  return reported;
}

void SocketWatch::take_message(Reported reported) {
  if (!workspace_.run.is_attached() || !workspace_.run.is_active()) return;
  if (!reported.errors.empty()) {
    workspace_.run.leave();
    return emit faulty(reported.errors);
  }
  if (!files_.may_discard()) {
    workspace_.run.leave();
    return;
  }
  const QString name = qt(reported.config.model.name) + ".json";
  workspace_.document.reset(std::move(reported.config), {}, name);
  being_planned_ = workspace_.document.shared_config();
}

void SocketWatch::take_plan() {
  if (!being_planned_ || workspace_.planner.is_busy()) return;
  const auto config = std::exchange(being_planned_, nullptr);
  const RunControl& run = workspace_.run;
  const bool is_of_run = run.is_attached() && run.record().hello && workspace_.document.shared_config() == config;
  if (!is_of_run || !workspace_.planner.is_current()) return;
  const std::shared_ptr<const Plan> plan = workspace_.planner.plan();
  if (plan->hash == run.record().hello->plan_hash) return workspace_.run.take_plan(plan);
  emit faulty({{"other_build", "the run's plan is another than this program makes of its run file",
                in_file(path_.toStdString()),
                "both are of the same build of Shardscope: else its curves are shown, but not beside a plan"}});
}

}  // namespace shardscope
