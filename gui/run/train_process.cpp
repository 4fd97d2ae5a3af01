#include "gui/run/train_process.h"

#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <utility>
#include <vector>

#include "gui/run/fit_point.h"

namespace shardscope {
namespace {

QStringList train_arguments(const Plan& plan, const StoredRun& run, const RunStart& start) {
  const CheckpointSettings& checkpoints = start.checkpoints;
  QStringList arguments{"train",     run.file(run_files::config), "--socket", run.socket,
                        "--machine", run.file(run_files::machine)};
  const auto add = [&](bool is_wanted, const QStringList& more) {
    if (is_wanted) arguments << more;
  };
  const bool saves = plan.trains() && !checkpoints.folder.isEmpty();
  add(saves, {"--checkpoint", checkpoints.folder, "--keep", QString::number(checkpoints.keep)});
  add(saves && checkpoints.save_every > 0, {"--save-every", QString::number(checkpoints.save_every)});
  add(plan.trains() && !start.checkpoint.isEmpty(), {"--resume", start.checkpoint});
  add(plan.trains() && checkpoints.max_restarts > 0, {"--max-restarts", QString::number(checkpoints.max_restarts)});
  add(start.allow_changed_data, {"--allow-changed-data"});
  add(has_fit(plan), {"--predictions", run.file(run_files::predictions)});
  add(!run.record.isEmpty(), {"--record", run.record});
  return arguments;
}

}  // namespace

TrainProcess train_process(const QString& program, const Plan& plan, const StoredRun& run, const RunStart& start) {
  TrainProcess process(new QProcess);
  process->setProgram(program);
  process->setArguments(train_arguments(plan, run, start));
  process->setChildProcessModifier([] {
    ::prctl(PR_SET_PDEATHSIG, SIGTERM);
    ::setsid();
  });
  process->setStandardInputFile(QProcess::nullDevice());
  process->setStandardOutputFile(run.file(run_files::output));
  process->setStandardErrorFile(run.file(run_files::errors));
  return process;
}

void let_go(TrainProcess process) {
  static auto& left = *new std::vector<TrainProcess>;
  left.push_back(std::move(process));
}

}  // namespace shardscope
