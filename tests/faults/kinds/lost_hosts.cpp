#include <fmt/format.h>

#include <filesystem>
#include <functional>

#include "tests/faults/kinds/kinds.h"
#include "tests/faults/trial_hosts.h"

namespace shardscope::faults {

namespace {

Fault signal_to_a_rank(int signal, int count) {
  const bool stops = signal == SIGSTOP;
  const std::string said = stops ? "rank %r has been stopped" : "rank %r was killed by " + signal_name(signal);
  return FaultOnHosts(signal_name(signal) + " to a rank", count, from_joining, {said, {1}, 15})
      .injected_by([signal](Run& run, const Hosts&) { send(there(run.rank()), signal); });
}

Fault signal_to_the_launcher(int signal, int count) {
  Expected expected = {"", {128 + signal}, 15};
  expected.leaves_files = signal == SIGKILL;
  return FaultOnHosts(signal_name(signal) + " to the launcher", count,
                      {Phase::joining, Phase::initialising, Phase::computing}, expected)
      .injected_by([signal](Run& run, const Hosts&) { send(run.launcher(), signal); });
}

// Not the launcher's own, the first.
Fault vanished_host(int count) {
  FaultOnHosts vanishes("a host that vanishes", count,
                        {Phase::joining, Phase::initialising, Phase::computing, Phase::exchanging},
                        {"host .*h\\d.*does not answer", {1}, 15});
  vanishes.fault().expected.settled = 30;
  vanishes.fault().victim = [count](const Start& start, Random& random) {
    return rank_from(start.ranks / count, start, random);
  };
  vanishes.fault().check = [hosts = vanishes.hosts()](const Run&) {
    for (int host = 0; host < 4; ++host) (*hosts)->set_link(host, true);
  };
  return vanishes.injected_by([](Run& run, const Hosts& hosts) { hosts.set_link(hosts.host_of(run), false); });
}

// To the first that `is_meant`, by its command line, on the host of the victim.
void send_on_its_host(Run& run, int signal, const std::function<bool(const std::vector<std::string>&)>& is_meant) {
  const std::string folder = run.start().temporary_of_rank(run.victim());
  for (const ProcessId& process : run.alive()) {
    const std::vector<std::string> command = command_line(process.pid);
    const bool is_there = (environment_variable(process.pid, "TMPDIR") + "/").starts_with(folder + "/");
    if (is_there && command.size() > 1 && is_meant(command)) return send(process.pid, signal);
  }
  throw Missed{};
}

Fault signal_to_an_agent(int signal, int count) {
  const std::string said = signal == SIGSTOP ? "does not answer" : "its agent";
  return FaultOnHosts(signal_name(signal) + " to the agent of a host", count,
                      {Phase::joining, Phase::computing, Phase::exchanging}, {"host .*h\\d.*" + said, {1}, 15})
      .injected_by([signal](Run& run, const Hosts&) {
        send_on_its_host(run, signal, [](const auto& command) { return command[1] == "host-agent"; });
      });
}

Fault killed_daemon(int count) {
  return FaultOnHosts("SIGKILL to Open MPI's daemon of a host", count,
                      {Phase::joining, Phase::computing, Phase::exchanging},
                      {"host .*h\\d.*Open MPI's daemon was killed by SIGKILL", {1}, 15})
      .injected_by([](Run& run, const Hosts&) {
        send_on_its_host(run, SIGKILL,
                         [](const auto& command) { return std::filesystem::path(command[0]).filename() == "orted"; });
      });
}

}  // namespace

std::vector<Fault> lost_hosts() {
  std::vector<Fault> faults;
  for (int count : {2, 4}) {
    for (int signal : {SIGKILL, SIGSEGV, SIGSTOP}) faults.push_back(signal_to_a_rank(signal, count));
    for (int signal : {SIGINT, SIGTERM, SIGKILL}) faults.push_back(signal_to_the_launcher(signal, count));
    for (int signal : {SIGKILL, SIGSTOP}) faults.push_back(signal_to_an_agent(signal, count));
    faults.push_back(killed_daemon(count));
    faults.push_back(vanished_host(count));
  }
  return faults;
}

}  // namespace shardscope::faults
