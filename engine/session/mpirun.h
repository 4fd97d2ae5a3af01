#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/error.h"

namespace shardscope {

// How mpirun reaches the hosts of a run (RunHosts), where these are other than this one.
struct MpirunHosts {
  std::string list;          // "NAME:ranks,NAME:ranks"
  std::string networks;      // "10.99.0.0/24,...": over these alone
  std::string shell_socket;  // that this program asks as their remote shell (engine/session/shell_server.h)
};

// The command that starts `ranks` ranks "PROGRAM rank --session DIR MORE..." on this host with Open MPI: more ranks
// than cores allowed, unbound, yielding when idle, over TCP on the loopback, each line of output tagged with its rank.
// That Open MPI also listens nowhere else is mpi_guard_environment()'s.
std::vector<std::string> mpirun_command(const std::string& program, const std::string& session_directory, int ranks,
                                        const std::vector<std::string>& more = {});
// The same on several hosts, where each rank finds its session directory in its environment.
std::vector<std::string> mpirun_command(const std::string& program, const MpirunHosts& hosts, int ranks,
                                        const std::vector<std::string>& more = {});

// Of a Failure (start_program), which then says what is missing.
Failure with_hint_for_mpirun(const Failure& failure);

struct TaggedLine {
  int rank = -1;  // -1: untagged
  std::string text;
};

// "[1,3]<stderr>:text" (mpirun --tag-output) -> rank 3, "text".
TaggedLine parse_tagged_line(std::string_view line);

// What mpirun says, on its way out, about the process that ended the job.
struct ExitReport {
  std::optional<int> rank;
  std::optional<int> signal;
  std::optional<int> exit_code;

  // Of ranks whose daemon is gone mpirun says 205, which is about the daemon.
  static constexpr int lost_daemon = 205;
  bool names_culprit() const { return rank && (signal || (exit_code && exit_code != lost_daemon)); }
};

// Adds what an untagged line says: "... process rank 2 with PID 0 on node x exited on signal 9 (Killed)." or
// "Process name: [[18662,1],1]" followed by "Exit code:    3". The first culprit stays.
void read_exit_report(std::string_view line, ExitReport& report);

}  // namespace shardscope
