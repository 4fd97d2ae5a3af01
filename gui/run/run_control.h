#pragma once

#include <QLocalSocket>
#include <QObject>
#include <QProcess>
#include <QTemporaryDir>
#include <QTimer>
#include <memory>

#include "gui/run/fit_point.h"
#include "gui/run/run_record.h"

namespace shardscope {

// Where a run's checkpoints go; an empty folder: nowhere.
struct CheckpointSettings {
  QString folder;
  int save_every = 0;  // steps; 0: at the end alone
  int keep = 3;
  int max_restarts = 0;  // after a rank was lost: from the newest checkpoint, or anew
};

// Starts, watches and ends one training run: `shardrun train FILE --socket PATH` in a process of its own, its messages
// over a local socket. All asynchronous; this process never calls MPI.
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

  // Of runs that are started from now on.
  void set_checkpoints(CheckpointSettings settings) { checkpoints_ = std::move(settings); }

  // Starts a run of plan's config; `plan` is what measurements are laid beside. It goes on from a checkpoint, where one
  // is named. Without effect while one is active.
  void start(std::shared_ptr<const Plan> plan, const QString& checkpoint = {});
  // Asks the run to end after its current step; a second call, or ten seconds without an end, ends it at once.
  void stop();
  // Ends the run at once and waits until nothing of it is left.
  void end_now();

  // Asks the run for all steps of a stretch of its past (RunRecord::look_at).
  void look_at(RunRecord::StepRange steps);

  // Takes messages as if they came from a run of `plan`: replay, and tests.
  void begin_replay(std::shared_ptr<const Plan> plan);
  void receive(Message message);

 signals:
  void stateChanged();
  // The record has grown. Said a few times a second at most, however fast the steps are.
  void received();

 private:
  bool send(const Request& request);  // false without a connection
  void take(Message message);
  void ask_for_missing();
  void set_state(State state);
  void connect_socket();
  void read_socket();
  void read_output();
  void socket_closed();
  void process_ended();
  void finish();
  void fail(const QString& message);
  void close_run();

  QStringList checkpoint_arguments(const QString& checkpoint) const;

  QString program_;
  CheckpointSettings checkpoints_;
  State state_ = State::idle;
  RunRecord record_;
  std::vector<FitPoint> fit_;
  std::shared_ptr<const Plan> plan_;
  std::unique_ptr<QTemporaryDir> directory_;
  QString socket_path_;
  QProcess process_;
  QLocalSocket socket_;
  MessageDecoder decoder_;
  QTimer connect_timer_;
  QTimer kill_timer_;
  QTimer announce_timer_;
  QByteArray output_;
  bool stop_requested_ = false;
  bool process_ended_ = false;  // of this run; its last messages may still be on the way
};

}  // namespace shardscope
