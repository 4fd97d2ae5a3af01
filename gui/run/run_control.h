#pragma once

#include <QObject>
#include <QTimer>
#include <memory>
#include <utility>
#include <vector>

#include "gui/run/fit_point.h"
#include "gui/run/printed_lines.h"
#include "gui/run/run_connection.h"
#include "gui/run/run_directory.h"
#include "gui/run/run_phase.h"
#include "gui/run/run_reader.h"
#include "gui/run/run_record.h"
#include "gui/run/run_store.h"
#include "gui/run/train_process.h"

namespace shardscope {

// Starts, watches and ends one training run: `shardrun train FILE --socket PATH` in a process of its own, its messages
// over a local socket. All asynchronous: nothing here waits for a process, and this process never calls MPI. A run can
// be left to go on without this window, and another one can attach to it: by what the history of its file says of it.
class RunControl : public QObject {
  Q_OBJECT
 public:
  enum class State : uint8_t { idle, starting, running, stopping, finished, stopped, failed };
  Q_ENUM(State)

  // `program`: the path of shardrun.
  explicit RunControl(QString program, QObject* parent = nullptr);
  ~RunControl() override;

  State state() const;
  bool is_active() const;  // until nothing of it is awaited, its process neither
  const RunRecord& record() const { return record_; }
  // The config of this run and the plan that was shown when it started.
  const std::shared_ptr<const Plan>& plan() const { return plan_; }
  // What the trained model makes of the examples of its data; empty before the end, and where they have no fit.
  const std::vector<FitPoint>& fit() const { return fit_; }
  // One line for a person: "training: step 12 of 100", "rank 3 was killed by SIGKILL in einsum".
  QString state_text() const;

  // The history into which runs go that are started from now on.
  void set_store(RunStore store) { store_ = std::move(store); }
  const RunStore& store() const { return store_; }
  // The run at hand in that history; its id is empty where it is in none.
  const StoredRun& stored() const { return stored_; }

  // Of runs that are started from now on.
  void set_checkpoints(CheckpointSettings settings) { checkpoints_ = std::move(settings); }

  // Starts a run of plan's config; `plan` is what measurements are laid beside. It goes on from a checkpoint, where one
  // is named, also from one of other data where those are allowed. Without effect while one is active.
  void start(std::shared_ptr<const Plan> plan, const QString& checkpoint = {}, bool allow_changed_data = false);
  // Asks the run to end after its current step and its last checkpoint, which may take as long as they do; a second
  // call ends it at once, by force where it does not do so itself; one that was attached to is left then.
  void stop();
  // Stops the processes of the run where they are, or lets them go on; only of one that this window has started, and
  // whose ranks train.
  void toggle_pause();
  bool can_pause() const;
  bool is_paused() const { return is<run_phase::Paused>(); }
  // What both calls of stop() do; leaves a run that was attached to.
  void end_now();
  // Watches a run that goes on without a window. `plan`: of its file as it is now, dropped where the run's is another.
  void attach(const StoredRun& run, std::shared_ptr<const Plan> plan);
  // The same of one that was started elsewhere, `shardrun train --socket`: what it is of follows from its own words.
  void attach(const QString& socket);
  bool is_attached() const { return attached_; }
  // The plan that an attached run turned out to be of.
  void take_plan(std::shared_ptr<const Plan> plan);
  // Lets the run go on when this process ends, and watches it no more. leaveAnswered() follows.
  void leave();

  // Asks the run for all steps of a span of its past (RunRecord::look_at).
  void look_at(RunRecord::StepRange steps);

  // Takes messages as if they came from a run of `plan`: replay, and tests.
  void begin_replay(std::shared_ptr<const Plan> plan);
  void receive(Message message);

 signals:
  void stateChanged();
  // False, and all is as before, where the run does not answer. One that has been attached to needs not, nor one that
  // has ended: there it is true before leave() returns.
  void leaveAnswered(bool is_left);
  // A run that was attached to without a plan has said what it is of (record().hello).
  void greeted();
  // The record has grown. Said a few times a second at most, however fast the steps are.
  void received();

 private:
  template <class Phase>
  bool is() const {
    return std::holds_alternative<Phase>(phase_);
  }
  void enter(RunPhase phase);
  void begin(std::shared_ptr<const Plan> plan, const StoredRun& stored, bool attached);
  void start_process(TrainProcess process);
  void resume();  // after a pause
  void signal(int signal);
  void force_end();
  bool ask_to_end();  // as it was requested
  void take(Message message);
  void take_read(Message& message);
  void take_printed(bool is_last);
  void refuse_connection(const QString& why);
  QString no_run_text() const;
  void ask_for_missing();
  void run_absent();
  void take_record(const QString& id, const ReadRun& read);
  void run_gone();
  void connection_ended();
  bool is_kept() const;  // it has said that it goes on
  void answer_leave();
  void finish();
  void fail(const QString& message);
  void close_run(RunEnd end);  // nothing of it is awaited any more
  // Removes what ended runs that were left have in their folders: again and again, for a process may outlive its last
  // word.
  void clear_away();
  bool is_elsewhere() const { return attached_ && stored_.id.isEmpty(); }

  QString program_;
  CheckpointSettings checkpoints_;
  RunPhase phase_;
  RunRecord record_;
  std::vector<FitPoint> fit_;
  std::shared_ptr<const Plan> plan_;
  RunStore store_;
  StoredRun stored_;
  bool attached_ = false;  // to it, which this window has not started or has left
  std::unique_ptr<RunDirectory> directory_;
  TrainProcess process_;  // null where nothing of it is awaited
  RunConnection connection_;
  RunReader reader_;  // of the record of an attached run, whose last messages did not come
  PrintedLines printed_;
  QTimer announce_timer_, clear_timer_;
  QTimer leave_timer_;                               // runs until a run has answered that is to be left
  std::vector<std::pair<StoredRun, int>> to_clear_;  // and how often it is tried
};

}  // namespace shardscope
