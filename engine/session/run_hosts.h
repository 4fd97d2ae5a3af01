#pragma once

#include <poll.h>

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "engine/config/host_list.h"
#include "engine/session/agent_port.h"
#include "engine/session/child_process.h"
#include "engine/session/host_judgement.h"
#include "engine/session/host_link.h"
#include "engine/session/host_report.h"
#include "engine/session/messages.h"
#include "engine/session/mpirun.h"
#include "engine/session/run_clock.h"
#include "engine/session/shell_server.h"

namespace shardscope {

struct RunHostsOptions {
  std::vector<HostRanks> hosts;
  std::vector<std::string> launcher;      // empty: ssh, or srun in an allocation; called as LAUNCHER... HOST COMMAND
  std::string interface;                  // empty: that by which each host is reached
  std::string program;                    // "shardrun", by its path on all hosts
  int64_t rank_bytes = 0;                 // of the largest file that a rank makes: its arena
  std::string mpi_token;                  // of mpi_guard_environment() on all hosts; empty: no guard
  int64_t needed_bytes = 0;               // of memory for each rank; a host with less is refused; 0: none is (--force)
  std::vector<int64_t> checkpoint_bytes;  // by rank, of memory beside that; empty: none
  int64_t start_ns = 30'000'000'000;      // for all agents to come
  int64_t silence_ns = 10'000'000'000;
  int64_t end_ns = 8'000'000'000;                                       // for their end
  std::function<std::vector<std::string>(const MpirunHosts&)> command;  // mpirun_command(), or a test's own
};

// The hosts of a run, as its launcher sees them: an agent on each (host_agent.h), launched there, which connects back
// (agent_port.h); once all have come, nobody else is listened to. Deadlines stand still while this process is stopped.
// Nothing here blocks but end().
class RunHosts {
 public:
  using Files = std::vector<std::pair<std::string, std::string>>;  // name, text

  // Launches the agents. `files` are put into the session directory of each host. Throws Failure (bad_hosts,
  // start_program, host_socket).
  RunHosts(RunHostsOptions options, const std::string& session_directory, const Files& files);
  ~RunHosts();  // ends all that can be reached
  RunHosts(const RunHosts&) = delete;
  RunHosts& operator=(const RunHosts&) = delete;

  void add_poll_entries(std::vector<pollfd>& entries) const;

  struct News {
    std::vector<HostReport> reports;
    std::vector<LogMessage> lines;       // what hosts are, and what launchers and Open MPI's daemons wrote
    std::vector<std::string> left;       // at the end: a sentence for each process or host that could not be ended
    std::optional<std::string> failure;  // a host was lost, or never came: one sentence
  };
  // What is possible now. The first failure is reported, once.
  News serve();

  bool is_ready() const;  // all agents have come and are set up
  // By which all hosts are reached; empty where it is not one address.
  std::string own_address() const;
  // How mpirun reaches the hosts, then.
  MpirunHosts mpirun_hosts() const;

  bool has_running() const;  // what mpirun launched there

  void request_stop() { tell(HostFrameKind::stop); }
  void pause() { tell(HostFrameKind::pause); }
  void resume() { tell(HostFrameKind::resume); }
  void kill_ranks() { tell(HostFrameKind::kill); }

  // Ends all processes of the run on all hosts that can be reached.
  News end(int64_t patience_ns);

 private:
  struct Host {
    HostRanks place;
    std::string secret;
    std::unique_ptr<ChildProcess> launcher;
    LineBuffer launcher_lines{65536};
    std::string last_words;  // of the launcher
    std::optional<HostLink> link;
    ProcessId agent;  // there
    bool ready = false;
    std::optional<std::string> unfit;  // why it cannot have its ranks
    bool ended = false;
    bool silent = false;
    int64_t offset_ns = std::numeric_limits<int64_t>::max();  // from its clock to ours: the least seen
    bool runs = false;
    bool ask_at_once = false;
    std::optional<int64_t> asked_ns;  // since when an answer is waited for
    int64_t last_asked_ns = 0;
  };

  void add_link_entries(std::vector<pollfd>& entries) const;
  void launch(Host& host, uint32_t number, const std::string& where);
  void take_agents();
  void welcome(HostLink link);
  void on_readable(Host& host, News& news);
  void handle(Host& host, const HostFrame& frame, News& news);
  void read_launcher(Host& host, News& news);
  void register_host(Host& host, const nlohmann::json& machine, News& news);
  std::vector<JudgedHost> judged() const;
  void judge(bool is_late, News& news);
  void take_exit(Host& host, int wait_status, News& news);
  void ask(Host& host);
  void launch_ranks(Host& host, const std::string& command);
  int world_size() const;
  std::set<std::string> own_addresses() const;
  std::string networks() const;
  void end_by_launcher(const Host& host, News& news);
  void take_shell_requests();
  void check_deadlines(News& news);
  void lose(Host& host, const std::string& how, News& news);
  void fail(std::string why, News& news);
  void tell(HostFrameKind kind);
  std::string said(const Host& host) const;

  RunHostsOptions options_;
  std::string setup_files_;  // JSON
  std::vector<Host> hosts_;
  AgentPort port_;
  ShellServer shell_;
  RunClock clock_;
  int64_t now_ns_ = 0;
  int64_t started_ns_ = 0;
  bool failed_ = false;
};

}  // namespace shardscope
