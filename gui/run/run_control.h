#pragma once

#include <QLocalSocket>
#include <QObject>
#include <QProcess>
#include <QTimer>
#include <memory>
#include <utility>
#include <vector>

#include "gui/run/fit_point.h"
#include "gui/run/message_reader.h"
#include "gui/run/run_directory.h"
#include "gui/run/run_record.h"
#include "gui/run/run_store.h"

namespace shardscope {

// Where a run's checkpoints go; an empty folder: nowhere.
struct CheckpointSettings {
  QString folder;
  int save_every = 0;  // steps; 0: at the end alone
  int keep = 3;
  int max_restarts = 0;  // after a rank was lost: from the newest checkpoint, or anew
};

// Starts, watches and ends one training run: `shardrun train FILE --socket PATH` in a process of its own, its messages
// over a local socket. All asynchronous; this process never calls MPI. A run can be left to go on without this window,
// and another one can attach to it: by what the history of its file says of it.
class RunControl : public QObject {
  Q_OBJECT
 public:
  enum class State : uint8_t { idle, starting, running, stopping, finished, stopped, failed };
  Q_ENUM(State)

  // `program`: the path of shardrun.
  explicit RunControl(QString program, QObject* parent = nullptr);
  ~RunControl() override;

  State state() const { return state_; }
  bool is_active() const;  // until the process has ended, too
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
  // call ends it at once.
  void stop();
  // Stops the processes of the run where they are, or lets them go on; only of one that this window has started, and
  // whose ranks train.
  void toggle_pause();
  bool can_pause() const;
  bool is_paused() const { return paused_; }
  // Ends the run at once and waits until nothing of it is left. From one that was attached to, this window goes away,
  // after that has ended where it was asked to.
  void end_now();
  // Watches a run that goes on without a window. `plan`: of its file as it is now, dropped where the run's is another.
  void attach(const StoredRun& run, std::shared_ptr<const Plan> plan);
  // The same of one that was started elsewhere, `shardrun train --socket`: what it is of follows from its own words.
  void attach(const QString& socket);
  bool is_attached() const { return attached_; }
  // The plan that an attached run turned out to be of.
  void take_plan(std::shared_ptr<const Plan> plan);
  // Lets the run go on when this process ends; false, and as before, where it does not answer.
  bool leave();

  // Asks the run for all steps of a span of its past (RunRecord::look_at).
  void look_at(RunRecord::StepRange steps);

  // Takes messages as if they came from a run of `plan`: replay, and tests.
  void begin_replay(std::shared_ptr<const Plan> plan);
  void receive(Message message);

 signals:
  void stateChanged();
  // A run that was attached to without a plan has said what it is of (record().hello).
  void greeted();
  // The record has grown. Said a few times a second at most, however fast the steps are.
  void received();

 private:
  bool send(const Request& request);  // false without a connection
  void resume();                      // after a pause
  bool ask_to_end();                  // as it was requested
  void begin(std::shared_ptr<const Plan> plan, const StoredRun& stored, bool attached);
  void take(Message message);
  void take_message(Message message);  // of the socket
  void refuse_connection(const QString& why);
  QString no_run_text() const;
  void ask_for_missing();
  void set_state(State state);
  void connect_socket();
  void socket_connected();
  void read_socket();
  void read_output(bool is_last = false);
  void socket_closed();
  void socket_failed(QLocalSocket::LocalSocketError why);
  void connection_ended();  // and all it reported is taken
  void process_ended();
  void finish();
  // Removes what ended runs that were left have in their folders: again and again, for a process may outlive its last
  // word.
  void clear_away();
  void fail(const QString& message);
  void close_run();
  void drop_connection();
  std::unique_ptr<QProcess> make_process();
  bool is_elsewhere() const { return attached_ && stored_.id.isEmpty(); }
  QString file(const char* name) const { return stored_.directory + '/' + name; }
  QStringList checkpoint_arguments(const QString& checkpoint) const;

  QString program_;
  CheckpointSettings checkpoints_;
  State state_ = State::idle;
  RunRecord record_;
  std::vector<FitPoint> fit_;
  std::shared_ptr<const Plan> plan_;
  std::unique_ptr<RunDirectory> directory_;
  std::unique_ptr<QProcess> process_;
  RunStore store_;
  StoredRun stored_;
  QLocalSocket socket_;
  MessageReader reader_;
  QTimer connect_timer_;
  QTimer announce_timer_;
  QTimer clear_timer_;
  std::vector<std::pair<StoredRun, int>> to_clear_;  // and how often it is tried
  QByteArray output_;                                // of a line that has not ended
  qint64 output_read_ = 0;                           // of the file
  bool stop_requested_ = false, kill_requested_ = false;
  bool attached_ = false, paused_ = false;
  bool has_greeted_ = false;        // in this connection
  bool has_reported_past_ = false;  // likewise: a snapshot
  bool process_ended_ = false;      // of this run; its last messages may still be on the way
};

}  // namespace shardscope
