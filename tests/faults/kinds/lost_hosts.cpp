#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>

#include "tests/faults/kinds/kinds.h"

namespace shardscope::faults {

namespace {

const std::string script = SHARDSCOPE_SOURCE_DIR "/tests/hosts/hosts.sh";

bool run_script(const std::string& arguments) {
  return std::system(fmt::format("'{}' {} >/dev/null 2>&1", script, arguments).c_str()) == 0;
}

// Hosts of one trial, made of network namespaces.
class Hosts {
 public:
  explicit Hosts(int count) : count_(count) {
    static std::atomic<int> made = 0;
    prefix_ = fmt::format("f{}", (::getpid() * 17 + made++) % 10'000);
    run_script(fmt::format("remove {} {}", prefix_, count_));
    is_made_ = run_script(fmt::format("make {} {}", prefix_, count_));
  }
  ~Hosts() { run_script(fmt::format("remove {} {}", prefix_, count_)); }
  Hosts(const Hosts&) = delete;
  Hosts& operator=(const Hosts&) = delete;

  bool is_made() const { return is_made_; }
  std::string name(int host) const { return fmt::format("{}h{}", prefix_, host); }
  void set_link(int host, bool up) const { run_script(fmt::format("link {} {}", name(host), up ? "up" : "down")); }

  void take(Start& start) const {
    std::string list;
    for (int host = 0; host < count_; ++host) {
      list += fmt::format("{}{}:{}", host ? "," : "", name(host), start.ranks / count_);
      start.host_folders.push_back("/tmp/shardscope-hosts/" + name(host));
    }
    start.before = {script, "on", name(0)};
    start.environment["SHARDSCOPE_LAUNCHER"] = script + " launch";
    start.arguments.insert(start.arguments.end(), {"--hosts", list});
  }
  // Of the rank that a fault is for.
  int host_of(const Run& run) const { return run.victim() * count_ / run.start().ranks; }

 private:
  int count_;
  std::string prefix_;
  bool is_made_ = false;
};

bool can_make_hosts() {
  static const bool can = std::filesystem::exists(script) && ::geteuid() == 0 && Hosts(2).is_made();
  return can;
}

// Four ranks on two or four hosts.
class FaultOnHosts {
 public:
  FaultOnHosts(const std::string& name, int count, std::vector<Phase> phases, Expected expected) {
    fault_.name = fmt::format("{}, on {} hosts", name, count);
    fault_.phases = std::move(phases);
    fault_.expected = std::move(expected);
    fault_.expected.settled = 10;
    if (!can_make_hosts()) fault_.lacks = "the right to make network namespaces (or ip)";
    fault_.prepare = [hosts = hosts_, count](Start& start, Random&) {
      start.ranks = 4;
      hosts->emplace(count).take(start);
    };
  }

  Fault injected_by(const std::function<void(Run&, const Hosts&)>& inject) {
    fault_.inject = [hosts = hosts_, inject](Run& run, Random&) { inject(run, **hosts); };
    return fault_;
  }
  Fault& fault() { return fault_; }
  const std::shared_ptr<std::optional<Hosts>>& hosts() const { return hosts_; }

 private:
  Fault fault_;
  std::shared_ptr<std::optional<Hosts>> hosts_ = std::make_shared<std::optional<Hosts>>();
};

Fault signal_to_a_rank(int signal, int count) {
  const bool stops = signal == SIGSTOP;
  const std::string said = stops ? "rank %r has been stopped" : "rank %r was killed by " + signal_name(signal);
  return FaultOnHosts(signal_name(signal) + " to a rank", count, from_joining, {said, {1}, 15})
      .injected_by([signal](Run& run, const Hosts&) { send(there(run.rank()), signal); });
}

Fault signal_to_the_starter(int signal, int count) {
  Expected expected = {"", {128 + signal}, 15};
  expected.leaves_files = signal == SIGKILL;
  return FaultOnHosts(signal_name(signal) + " to the starter", count,
                      {Phase::joining, Phase::initialising, Phase::computing}, expected)
      .injected_by([signal](Run& run, const Hosts&) { send(run.starter(), signal); });
}

// Not the starter's own, the first.
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
    for (int signal : {SIGINT, SIGTERM, SIGKILL}) faults.push_back(signal_to_the_starter(signal, count));
    for (int signal : {SIGKILL, SIGSTOP}) faults.push_back(signal_to_an_agent(signal, count));
    faults.push_back(killed_daemon(count));
    faults.push_back(vanished_host(count));
  }
  return faults;
}

}  // namespace shardscope::faults
