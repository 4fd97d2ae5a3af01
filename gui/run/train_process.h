#pragma once

#include <QProcess>
#include <memory>

#include "gui/run/run_store.h"

namespace shardscope {

// Where a run's checkpoints go; an empty folder: nowhere.
struct CheckpointSettings {
  QString folder;
  int save_every = 0;  // steps; 0: at the end alone
  int keep = 3;
  int max_restarts = 0;  // after a rank was lost: from the newest checkpoint, or anew
};

// How a run of a plan begins.
struct RunStart {
  CheckpointSettings checkpoints;
  QString checkpoint;               // from which it goes on; empty: from none
  bool allow_changed_data = false;  // also where that is of other data
};

// What may be destroyed by one of its own signals.
struct DeleteLater {
  void operator()(QObject* object) const { object->deleteLater(); }
};

// `shardrun train` of what is in a run's directory, not yet started. It does not outlive the window, however that ends,
// unless it is asked to (Request::keep); nor does it end with the terminal of the window. What it prints goes to files,
// so that it can go on without a reader. `program`: the path of shardrun.
using TrainProcess = std::unique_ptr<QProcess, DeleteLater>;
TrainProcess train_process(const QString& program, const Plan& plan, const StoredRun& run, const RunStart& start);

// Waits neither for its end nor, unlike QProcess's own end, ends it.
void let_go(TrainProcess process);

}  // namespace shardscope
