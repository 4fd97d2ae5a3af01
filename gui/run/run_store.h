#pragma once

#include <QDateTime>
#include <QString>
#include <vector>

#include "engine/plan/plan.h"
#include "gui/run/run_speed.h"

namespace shardscope {

// What is in the directory of a run; predictions also with an ending, while they are made.
namespace run_files {
inline constexpr const char *config = "run.json", *machine = "machine.json", *output = "output", *errors = "errors",
                            *predictions = "predictions.jsonl", *socket = "socket", *left = "left";
}

// One run of a file's history, without what it measured.
struct StoredRun {
  QString id;      // of the history; later ones are greater
  QString record;  // folder of its record (engine/session/recorded_run.h), which shardrun writes while it runs
  QDateTime started;
  QString mesh;      // "data 4 x model 2"
  qint64 steps = 0;  // that it was to do
  StepWork work;
  QString socket;     // where it can be watched while it goes on
  QString directory;  // that was made for it; goes with the run

  QString file(const char* name) const { return directory + '/' + name; }  // of run_files
  QString label() const;                                                   // "12:04:33, data 4 x model 2"
  bool is_running() const;                                                 // somebody answers at its socket
  bool is_left() const;  // to go on without a window; else it is that of the window which started it
};

// Removes what was made for a run that nobody watched to its end, and nothing else; false where something is left.
bool remove_left(const StoredRun& run);

// The history of a run file: the records of its last runs, each a folder, with a line for each beside them. They are
// kept in the user's data folder and go by the run file's path, not beside the file itself: presets and files of others
// lie where nothing can be written, a folder of run files stays what its owner has put there, and what training writes
// can be large, so it must be in a place where it can be limited and thrown away without asking.
class RunStore {
 public:
  static constexpr size_t most_runs = 30;  // older ones are removed when one is added

  RunStore() = default;  // of nothing: has no runs and keeps none
  explicit RunStore(QString folder) : folder_(std::move(folder)) {}
  // Of a run file; of a draft by its name.
  static RunStore of(const QString& path, const QString& title);

  const QString& folder() const { return folder_; }
  std::vector<StoredRun> runs() const;  // the newest first
  // A run that begins now. Without a record (empty) where nothing can be written.
  StoredRun add(const Plan& plan, const QString& socket, const QString& directory) const;
  // Takes over the runs of a draft that was saved as this file, but not those that another window watches. `at_hand`:
  // id of the one that this window has. Records stay where they are: shardrun may be writing them.
  void take_over(const RunStore& draft, const QString& at_hand) const;
  // With what was made for it.
  void remove(const StoredRun& run) const;

 private:
  bool write(const StoredRun& run) const;  // its line
  QString description(const QString& id) const { return folder_ + '/' + id + ".json"; }

  QString folder_;
};

}  // namespace shardscope
