#include "engine/session/host_agent.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "engine/base/error.h"
#include "engine/base/instruction_set.h"
#include "engine/base/loaded_code.h"
#include "engine/base/standard_streams.h"
#include "engine/machine/host_machine.h"
#include "engine/session/control.h"
#include "engine/session/host_link.h"
#include "engine/session/host_network.h"
#include "engine/session/mpi_guard.h"
#include "engine/session/preflight.h"
#include "engine/session/processes.h"
#include "engine/session/rank_group.h"
#include "engine/session/session_directory.h"
#include "engine/session/status_page.h"
#include "engine/session/telemetry.h"

namespace shardscope {

namespace {

constexpr int agent_poll_ms = 50, retry_ms = 100;
constexpr const char* launcher_is_silent = "the launcher says nothing";
constexpr int64_t unknown_ns = 30'000'000'000;  // to be given its task
constexpr int64_t agent_ending_ns = 5'000'000'000;
constexpr int64_t farewell_ns = 1'000'000'000;
constexpr int64_t route_ns = 6'000'000'000;

using nlohmann::json;

std::atomic<bool> asked_to_end = false;

[[noreturn]] void fail_agent(const std::string& what) { throw Failure(Error{"host_agent", what, {}, ""}); }

// 0, or an errno; the socket is closed where there is one.
int try_connect(int socket, const sockaddr_in& address, int64_t wait_ns) {
  int error = ::connect(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 ? 0 : errno;
  if (error == EINPROGRESS) {
    pollfd entry{socket, POLLOUT, 0};
    socklen_t length = sizeof error;
    if (::poll(&entry, 1, static_cast<int>(wait_ns / 1'000'000)) == 0) error = ETIMEDOUT;
    else ::getsockopt(socket, SOL_SOCKET, SO_ERROR, &error, &length);
  }
  if (error != 0) ::close(socket);
  return error;
}

// A link that has just come up may have no route yet: it is tried again for a while.
int connect_to(const HostAgentOptions& options) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(options.port));
  if (::inet_pton(AF_INET, options.address.c_str(), &address.sin_addr) != 1)
    fail_agent("no address: " + options.address);
  const int64_t deadline = monotonic_ns() + options.connect_ns, routed = monotonic_ns() + route_ns;
  for (;;) {
    const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (socket < 0) fail_agent(std::string("cannot make a socket: ") + std::strerror(errno));
    const int64_t left = deadline - monotonic_ns();
    const int error = try_connect(socket, address, std::max<int64_t>(left, 0));
    if (error == 0) return socket;
    if ((error != EHOSTUNREACH && error != ENETUNREACH) || monotonic_ns() > std::min(routed, deadline)) {
      fail_agent(
          fmt::format("cannot reach the launcher at {}:{}: {}", options.address, options.port, std::strerror(error)));
    }
    ::poll(nullptr, 0, 200);
  }
}

// The system itself asks the launcher's for signs of life, so that a launcher that is merely stopped is not taken for
// lost.
void lose_after(int socket, int64_t silence_ns) {
  const int on = 1, seconds = std::max(1, static_cast<int>(silence_ns / 1'000'000'000 / 4)), probes = 3;
  const auto milliseconds = static_cast<unsigned int>(silence_ns / 1'000'000);
  ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  ::setsockopt(socket, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
  ::setsockopt(socket, IPPROTO_TCP, TCP_KEEPIDLE, &seconds, sizeof seconds);
  ::setsockopt(socket, IPPROTO_TCP, TCP_KEEPINTVL, &seconds, sizeof seconds);
  ::setsockopt(socket, IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof probes);
  ::setsockopt(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, &milliseconds, sizeof milliseconds);
}

// By which this host has reached the launcher.
std::string own_address_of(int socket) {
  sockaddr_in here{};
  socklen_t length = sizeof here;
  std::array<char, INET_ADDRSTRLEN> text{};
  if (::getsockname(socket, reinterpret_cast<sockaddr*>(&here), &length) != 0) return "";
  return ::inet_ntop(AF_INET, &here.sin_addr, text.data(), text.size()) ? text.data() : "";
}

void write_file(const std::filesystem::path& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary);
  file << text;
  if (!file.flush()) fail_agent(fmt::format("cannot write {}: {}", path.string(), std::strerror(errno)));
}

// Where others crowd the launcher's port, it may refuse this agent, too, which comes again until its time is over.
HostLink connect_link(const HostAgentOptions& options) {
  const int64_t start = monotonic_ns();
  for (;;) {
    HostLink link = HostLink::of_agent(connect_to(options), options.host, options.secret);
    lose_after(link.socket(), options.connect_ns);
    try {
      while (!link.is_trusted()) {
        if (asked_to_end) fail_agent("was asked to end");
        if (monotonic_ns() - start > unknown_ns) fail_agent(launcher_is_silent);
        link.write();
        pollfd entry{link.socket(), link.poll_events(), 0};
        ::poll(&entry, 1, agent_poll_ms);
        link.read();
      }
      return link;
    } catch (const Failure& failure) {
      const bool is_refused = failure.errors().front().code == "host_link";
      if (!is_refused || monotonic_ns() - start > options.connect_ns) throw;
    }
    ::poll(nullptr, 0, retry_ms);
  }
}

class HostAgent {
 public:
  explicit HostAgent(const HostAgentOptions& options) : link_(connect_link(options)) {}

  // Until the launcher says so, or is gone.
  void serve() {
    for (const int64_t start = monotonic_ns(); !ended_ && !asked_to_end;) {
      wait();
      link_.read();
      while (auto frame = link_.take()) handle(*frame);
      if (!directory_ && monotonic_ns() - start > unknown_ns) fail_agent(launcher_is_silent);
      if (group_) follow();
      link_.write();
    }
  }

  // With all that is still to be reported of them.
  std::vector<std::string> end_ranks() {
    if (!group_) return {};
    std::vector<std::string> left = group_->end(agent_ending_ns);
    report_rest();
    group_.reset();
    directory_.reset();
    return left;
  }

  // As far as the launcher still listens.
  void say_last(HostFrameKind kind, const std::string& payload) {
    try {
      link_.send(kind, payload);
      for (const int64_t start = monotonic_ns(); link_.unsent_bytes() > 0 && monotonic_ns() - start < farewell_ns;) {
        link_.write();
        ::poll(nullptr, 0, 1);
      }
    } catch (const Failure&) {
    }
  }

 private:
  void wait() {
    std::vector<pollfd> entries{{link_.socket(), link_.poll_events(), 0}};
    if (group_) group_->add_poll_entries(entries);
    ::poll(entries.data(), entries.size(), agent_poll_ms);
  }

  void handle(const HostFrame& frame) {
    switch (frame.kind) {
      case HostFrameKind::ping: return report();
      case HostFrameKind::setup: return set_up(json::parse(frame.payload));
      case HostFrameKind::launch: return launch(json::parse(frame.payload).at("command"));
      case HostFrameKind::stop:
        if (control_) control_->request_stop();
        return;
      case HostFrameKind::pause:
        if (group_) group_->pause();
        return;
      case HostFrameKind::resume:
        if (group_) group_->resume();
        return;
      case HostFrameKind::kill:
        if (group_) group_->kill_ranks();
        return;
      case HostFrameKind::end: ended_ = true; return;
      default: return;
    }
  }

  void set_up(const json& setup) {
    if (directory_) fail_agent("set up twice");
    setup.at("ranks").get_to(ranks_);
    directory_ = std::make_unique<SessionDirectory>();
    const std::string& path = directory_->path();
    check_host_limits({path, static_cast<int>(ranks_.size()), setup.at("rank_bytes").get<int64_t>()});
    lose_after(link_.socket(), setup.at("silence_ns"));
    mpi_token_ = setup.at("mpi_token");
    mpi_networks_ = setup.at("mpi_networks");
    mpi_address_ = own_address_in(mpi_networks_, own_address_of(link_.socket()));
    control_ = Control::create(path);
    page_ = StatusPage::create(path, setup.at("world_size"));
    std::filesystem::create_directory(path + "/tmp");
    for (const auto& [name, text] : setup.at("files").items()) {
      if (name.empty() || name[0] == '.' || name.find('/') != std::string::npos)
        fail_agent("no name of a file: " + name);
      write_file(std::filesystem::path(path) / name, text.get<std::string>());
    }
    const Device machine = standard_host().device;
    link_.send(HostFrameKind::ready, json{{"pid", this_process().pid},
                                          {"start_time", this_process().start_time},
                                          {"code", loaded_code()},
                                          {"cores", machine.cores},
                                          {"memory_bytes", machine.memory_bytes},
                                          {"instruction_set", name(machine_instruction_set())}}
                                         .dump());
  }

  void launch(const std::string& command) {
    if (!directory_ || group_) fail_agent("nothing is to be launched now");
    const bool is_one = command.find(';') == std::string::npos;  // then it dies with this process
    const std::vector<std::string> shell = {"/bin/sh", "-c", (is_one ? "exec " : "") + command};
    if (!mpi_token_.empty() && !has_mpi_guard())
      fail_agent(mpi_guard_path() + " is missing: install it beside shardrun on this host, as it is on the others");
    if (mpi_address_.empty()) link_.send(HostFrameKind::output, any_address_warning(mpi_networks_));
    group_ = std::make_unique<RankGroup>(shell, directory_->path(), ranks_,
                                         mpi_guard_environment(mpi_token_, mpi_address_, mpi_networks_));
  }

  void report() {
    if (!group_) return link_.send(HostFrameKind::ping);
    link_.send(HostFrameKind::report, encode(group_->look()));
  }

  void report_rest() {
    try {
      for (bool more = true; more;) {
        for (const TaggedLine& line : group_->read_output()) link_.send(HostFrameKind::output, line.text);
        const HostReport last = group_->look();
        more = last.more;
        link_.send(HostFrameKind::report, encode(last));
      }
    } catch (const Failure&) {  // nobody listens
    }
  }

  void follow() {
    for (const TaggedLine& line : group_->read_output()) link_.send(HostFrameKind::output, line.text);
    if (auto status = group_->wait_status(); status && !reported_exit_) {
      reported_exit_ = true;
      report_rest();
      link_.send(HostFrameKind::exited, json{{"status", *status}}.dump());
    }
  }

  HostLink link_;
  std::unique_ptr<SessionDirectory> directory_;
  std::optional<Control> control_;
  std::optional<StatusPage> page_;
  std::unique_ptr<RankGroup> group_;
  std::vector<int> ranks_;
  std::string mpi_token_, mpi_address_, mpi_networks_;
  bool reported_exit_ = false;
  bool ended_ = false;
};

}  // namespace

int end_host_agent(const ProcessId& agent) {
  if (is_alive(agent)) {
    std::vector<ProcessId> all = descendants(agent.pid);
    all.push_back(agent);
    for (const ProcessId& one : all) {
      if (is_alive(one)) ::kill(one.pid, SIGKILL);
    }
  }
  for (const int64_t start = monotonic_ns(); is_alive(agent) && monotonic_ns() - start < agent_ending_ns;) {
    ::poll(nullptr, 0, 10);
  }
  const SessionDirectory removes_abandoned_ones;
  return is_alive(agent) ? 1 : 0;
}

int run_host_agent(const HostAgentOptions& options) {
  struct sigaction action {};
  action.sa_handler = [](int) { asked_to_end = true; };
  for (int signal : {SIGINT, SIGTERM, SIGHUP}) ::sigaction(signal, &action, nullptr);
  ::signal(SIGPIPE, SIG_IGN);
  std::unique_ptr<HostAgent> agent;
  std::string error;
  try {
    agent = std::make_unique<HostAgent>(options);
    agent->serve();
    if (asked_to_end) error = "was asked to end";
  } catch (const std::exception& thrown) {
    error = thrown.what();
  }
  if (!agent) {
    say(error);
    return 1;
  }
  const std::vector<std::string> left = agent->end_ranks();
  if (error.empty()) agent->say_last(HostFrameKind::ended, json{{"left", left}}.dump());
  else agent->say_last(HostFrameKind::failure, error);
  return error.empty() ? 0 : 1;
}

}  // namespace shardscope
