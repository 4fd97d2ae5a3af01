#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/error.h"
#include "engine/machine/machine.h"
#include "engine/session/control.h"
#include "engine/session/messages.h"
#include "engine/session/progress.h"
#include "engine/session/rank_group.h"
#include "engine/session/reported_message.h"
#include "engine/session/run_clock.h"
#include "engine/session/run_history.h"
#include "engine/session/run_hosts.h"
#include "engine/session/run_server.h"
#include "engine/session/session_directory.h"
#include "engine/session/status_page.h"
#include "engine/session/watchdog.h"

namespace shardscope {

struct RunOptions {
  std::string config_json;  // text of the run file, overrides applied; the ranks read it as DIR/config.json
  std::string data_json;    // what its data are now; the ranks read it as DIR/data.json; empty: they are not given
  Machine machine;          // for which the plan was made; the ranks read it as DIR/machine.json
  uint64_t plan_hash = 0;
  int ranks = 1;
  int64_t steps = 0;             // that the run file asks for
  int64_t rank_bytes = 0;        // that the plan wants of memory, for each rank
  int64_t checkpoint_bytes = 0;  // that all ranks copy for a checkpoint
  PlanStepNames plan_steps;
  std::vector<std::string> metrics;  // names, in the plan's order
  std::vector<ExpertLayer> expert_layers;
  std::string socket_path;  // empty: DIR/socket
  // The program that starts the ranks, given the session directory: mpirun_command(), or a test's own.
  std::function<std::vector<std::string>(const std::string& session_directory)> command;
  std::optional<RunHostsOptions> hosts;  // the ranks' hosts, by whose `command` they are started then
  WatchdogLimits limits;
  std::function<int64_t()> restart_step;  // with which ranks that are started again begin; empty: 0
  // Names of checkpoints that ranks which were ended by force have left; empty: none are looked for.
  std::function<std::vector<std::string>()> incomplete_checkpoints;
  int max_restarts = 0;                   // how often the ranks are started again after one was lost
  int64_t exit_grace_ns = 2'000'000'000;  // between SIGTERM to the launcher and SIGKILL to all, and then for their end
};

// What is said at the first interrupt.
inline constexpr std::string_view interrupt_note = "stopping after this step; interrupt again to end at once";

struct RunOutcome {
  RunEnd end = RunEnd::finished;
  int64_t steps = 0;  // completed by all ranks
  std::optional<FailureMessage> failure;
};

// One run from start to end: makes the session directory and the socket, starts the ranks, follows their telemetry,
// tells clients and the caller, notices what goes wrong, starts the ranks again where that was asked for, and leaves
// nothing behind: no process, no socket, no directory, however it ends. The ranks die with the thread that calls run().
class RunProcess {
 public:
  // Throws Failure (session_directory, session_file, session_socket, host_limits).
  explicit RunProcess(RunOptions options);
  ~RunProcess();
  RunProcess(const RunProcess&) = delete;
  RunProcess& operator=(const RunProcess&) = delete;

  const std::string& session_directory() const { return directory_.path(); }
  const std::string& socket_path() const { return server_.path(); }

  // Blocks until the end; `on_message` gets what a client gets after its snapshot. What goes wrong is a message, also
  // where the ranks cannot be started, or not once more. Call it once.
  RunOutcome run(const std::function<void(const ReportedMessage&)>& on_message);

  // What Ctrl-C means: the first call asks for a stop after the current step, the second (or time) ends the run by
  // force. Callable from a signal handler and from any thread.
  void interrupt() noexcept;
  // Asks for a stop after the current step, as a client may. From within run().
  void stop();
  // What Ctrl-Z means: stops the ranks, then this process, until it is continued (fg). Deadlines stand still. Callable
  // as interrupt().
  void pause() noexcept;
  // What SIGCONT means: a pause that was asked for and has not begun will not. Callable as interrupt().
  void resume() noexcept { pause_asked_ = false; }

 private:
  // Starts the ranks and follows them to their end, which may be by force.
  void run_once();
  void start_ranks();
  bool reach_hosts();  // false where the run is over before all have come
  void follow_hosts();
  void handle_news(const RunHosts::News& news);
  void request_stop();
  void wake() noexcept;
  void wait_for_news();
  void read_output();
  void follow_ranks();
  void serve_clients();
  void handle_interrupts();
  bool stops_in_time();
  void handle_pause();
  void watch(std::optional<int> wait_status);
  void take_failure(FailureMessage failure);
  void report_failure(FailureMessage failure);
  void report_left(const std::vector<std::string>& left);
  bool starts_again();
  void report_no_restart(FailureMessage failure, const Failure& why);
  void abandon(const Failure& failure);
  void report_incomplete();
  void report_restart(std::optional<int64_t> first_step = {});
  void end_by_force();
  void end_ranks();
  void flush_clients();
  void publish(const Message& message);
  RunEnd run_end() const;

  RunOptions options_;
  SessionDirectory directory_;
  Control control_;
  StatusPage page_;
  RunHistory history_;
  RunServer server_;
  std::string mpi_token_;
  RunClock clock_;
  // Of the current start of the ranks:
  std::unique_ptr<RunHosts> hosts_;  // where there are several
  std::unique_ptr<RankGroup> ranks_;
  std::unique_ptr<Progress> progress_;
  std::unique_ptr<Watchdog> watchdog_;
  int restarts_ = 0;                          // that were reported
  int64_t steps_ = 0;                         // completed
  std::optional<FailureMessage> lost_;        // for which the ranks are started again, once they have ended
  std::optional<RestartMessage> restarting_;  // reported with the first step, which shows where the ranks go on
  bool more_telemetry_ = false;
  bool left_out_a_trace_ = false;  // for its size; said once
  bool over_ = false;              // it has failed, or is to be ended by force
  std::function<void(const ReportedMessage&)> on_message_;

  std::atomic<int> interrupts_ = 0;
  std::atomic<bool> pause_asked_ = false;
  int wake_ = -1;  // eventfd
  struct Stopping {
    int64_t since_ns = 0;  // the interrupt, or the last sign of life of ranks that are about to stop
    uint64_t signs_of_life = 0;
    // In which the furthest rank was at the first look after the ranks were asked to stop: at an earlier one it may
    // have been many short steps behind.
    std::optional<int64_t> step = {};
  };
  std::optional<Stopping> stopping_;
  bool stop_asked_ = false;
  bool kill_asked_ = false;
};

}  // namespace shardscope
