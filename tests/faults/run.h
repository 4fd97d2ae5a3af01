#pragma once

#include <QProcess>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/session/status_page.h"
#include "engine/session/telemetry.h"
#include "tests/faults/marked_processes.h"
#include "tests/faults/phase.h"
#include "tests/faults/start.h"

namespace shardscope::faults {

// A training that the test has started and watches from outside. Ends what is left of it when it goes.
class Run {
 public:
  // `exchanges`: of each plan step, by position, whether it waits for peers.
  Run(Start start, int victim, std::vector<bool> exchanges);
  ~Run();
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  const Start& start() const { return start_; }
  int victim() const { return victim_; }  // number of the rank that a fault is for
  int launcher() const { return launcher_.pid; }
  std::optional<int> mpirun();  // nothing before it is there, or after its end
  std::optional<int> rank(int number);
  std::optional<int> rank() { return rank(victim_); }

  Phase phase();
  // While it trains: another plan step follows in this training step.
  bool is_before_its_last_plan_step();
  // Waits for the phase (of these, any later one counts as reached; while training computing and exchanging are
  // reported apart). False where the run ends before.
  bool reach(Phase phase);
  // Lets it run for a while; ends early with it.
  void run_for(int64_t milliseconds);
  // The same until `done` holds. Returns whether it does.
  bool run_until(const std::function<bool()>& done, int64_t milliseconds);
  bool ended() const { return process_.state() == QProcess::NotRunning; }

  int code() const;  // as a shell tells it: 128 + the signal where it died of one
  const std::string& output() const { return output_; }
  const std::string& errors() const { return errors_; }
  // When standard error held this for the first time (CLOCK_MONOTONIC).
  std::optional<int64_t> first_said(const std::string& pattern) const;
  int64_t ended_ns() const { return ended_ns_; }
  // From when a fault counts that takes time to bring about; 0: from the call of inject().
  void begin_fault() { fault_ns_ = monotonic_ns(); }
  int64_t fault_ns() const { return fault_ns_; }

  // A path as the run sees it, for this process to open while the run is there.
  std::string seen(const std::string& path) const;
  std::string session_directory() const;  // of the victim's host, as seen from here; empty before there is one
  std::vector<ProcessId> alive() { return processes_.alive(); }
  std::vector<ProcessId> ever() const { return processes_.ever(); }
  // Names in its TMPDIR and in its /dev/shm and /tmp (where these are its own), and its control groups.
  std::vector<std::string> files_left() const;
  // Another training in the same place: TMPDIR, mounts, folder.
  std::unique_ptr<QProcess> start_beside(const Start& other);
  struct Ended {
    int code = -1;  // as a shell reports it; -1: none within a minute
    std::string errors;
  };
  // The same to its end, while this one goes on.
  Ended run_beside(const Start& other);
  // A training of one step in the same place, which clears up what a killed one has left.
  void start_next();
  void end_all();

 private:
  struct Received {
    int64_t ns;
    size_t size;
  };

  void prepare_folders();
  void launch(QProcess& process, const std::vector<std::string>& command);
  void on_readable();
  void find_processes();
  void open_page();
  int plan_step();  // -1: none yet
  Phase phase_of_step();

  Start start_;
  int victim_;
  std::vector<bool> exchanges_;
  std::string shared_memory_;  // the folder that is the run's /dev/shm, where it has one of its own
  bool own_slash_tmp_ = false;
  MarkedProcesses processes_;
  QProcess process_;
  ProcessId launcher_;
  std::optional<ProcessId> mpirun_;
  std::vector<std::optional<ProcessId>> ranks_;
  std::optional<StatusPage> page_;
  std::optional<TelemetryReader> telemetry_;
  int64_t looked_ns_ = 0;
  int64_t ended_ns_ = 0, fault_ns_ = 0;
  std::string output_, errors_;
  std::vector<Received> received_;
  std::vector<std::pair<std::string, int>> folders_;  // kept open, so that mounts outlive the run
};

}  // namespace shardscope::faults
