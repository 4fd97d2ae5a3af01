#pragma once

#include <poll.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/session/child_process.h"
#include "engine/session/host_observer.h"
#include "engine/session/messages.h"
#include "engine/session/mpirun.h"
#include "engine/session/process_tree.h"
#include "engine/session/run_cgroup.h"

namespace shardscope {

// In the environment of a rank: its session directory.
inline constexpr const char* session_variable = "SHARDSCOPE_SESSION";

// The ranks of one start on this host, and the program (mpirun, or its daemon) that starts them: what they print, how
// they are, and their end, of which nothing is left.
class RankGroup {
 public:
  // `environment` is added to that of this process. Throws Failure (start_program).
  RankGroup(const std::vector<std::string>& command, const std::string& session_directory, std::vector<int> ranks,
            ChildProcess::Environment environment = {});
  ~RankGroup();  // ends them

  void add_poll_entries(std::vector<pollfd>& entries) const;
  // What was printed since the last call, with the rank that printed it.
  std::vector<TaggedLine> read_output();

  HostReport look();
  const ExitReport& exit_report() const { return report_; }
  std::optional<int> wait_status() { return child_.wait_status(); }
  char launcher_state();  // its letter in /proc, or frozen_process

  // All of them, for as long as this process is paused itself.
  void pause();
  void resume();

  // The ranks alone, stopped ones, too, none of which does anything more: no SIGCONT wakes them.
  void kill_ranks();
  void ask_to_end();  // SIGTERM to the launcher, which ends its ranks
  // At once, by all means; gives a sentence about each process that the kernel does not end in that time.
  std::vector<std::string> end(int64_t patience_ns);

 private:
  void find_launched();

  RunCgroup cgroup_;
  ChildProcess child_;
  ProcessTree tree_;
  HostObserver observer_;
  int64_t scanned_ns_ = 0;
  int64_t group_looked_ns_ = 0;
  bool launcher_frozen_ = false;
  LineBuffer output_lines_;
  ExitReport report_;
  bool output_open_ = true;
};

}  // namespace shardscope
