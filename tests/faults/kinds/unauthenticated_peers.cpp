#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <list>
#include <optional>

#include "tests/faults/kinds/kinds.h"
#include "tests/faults/tcp_ports.h"
#include "tests/faults/trial_hosts.h"
#include "tests/faults/whole_runs.h"
#include "tests/session/socket_client.h"

namespace shardscope::faults {

namespace {

constexpr int64_t flood_ms = 60'000;
constexpr int64_t flooded_steps = 4000;
// How many there were, where, and how many of them found no place.
constexpr const char* flood_words =
    "[1-9]\\d* unauthenticated connections came to [\\d.]+:\\d+( and [\\d.]+:\\d+)*, of which \\d+ were refused";

using Process = std::function<std::optional<int>(Run&)>;

// What any user of this machine can do: the run trains to its end, exit code 0.
Fault peers(const std::string& name, std::function<void(Run&, Random&)> inject) {
  Fault fault;
  fault.name = name;
  fault.phases = {Phase::joining, Phase::computing};
  fault.expected = {"", {0}, 90};
  fault.prepare = [](Start& start, Random&) { ask_for_all_steps(start, flooded_steps); };
  fault.inject = std::move(inject);
  fault.check = check_all_steps;
  return fault;
}

// Once it listens, at all of its ports.
std::list<TcpPeer> peers_of(Run& run, const Process& process) {
  std::list<TcpPeer> all;
  const auto connect = [&] {
    const std::optional<int> pid = process(run);
    if (pid) {
      for (const TcpPort& port : listening_ports(*pid)) all.emplace_back(*pid, port);
    }
    all.remove_if([](const TcpPeer& peer) { return !peer.is_connected(); });
    return !all.empty();
  };
  if (!run.run_until(connect, 10'000)) throw Missed{};
  return all;
}

Fault a_byte_held(const std::string& whose, const Process& process) {
  return peers("a byte to " + whose + ", held open", [process](Run& run, Random&) {
    const std::list<TcpPeer> all = peers_of(run, process);
    for (const TcpPeer& peer : all) peer.send("x");
    run.run_for(flood_ms);
  });
}

Fault garbage(const std::string& whose, const Process& process) {
  return peers("garbage to " + whose + ", again and again", [process](Run& run, Random& random) {
    const auto send = [&] {
      const std::optional<int> pid = process(run);
      if (!pid) return false;
      std::string bytes(1 + random() % 20'000, '\0');
      for (char& byte : bytes) byte = static_cast<char>(random());
      for (const TcpPort& port : listening_ports(*pid)) TcpPeer(*pid, port).send(bytes);
      return false;
    };
    run.run_until(send, flood_ms);
  });
}

// Nobody but users of this machine can: there is no port of a run on one host that another host could reach.
Fault ports_beyond_the_loopback() {
  return peers("a port that other hosts can reach", [](Run& run, Random&) {
    peers_of(run, [](Run& one) { return one.rank(); });
    for (const ProcessId& process : run.alive()) {
      for (const TcpPort& port : listening_ports(process.pid)) {
        if (port.is_on_loopback()) continue;
        throw Complaint(fmt::format("{} listens at {}:{}", to_text(process), port.address, port.port));
      }
    }
  });
}

Fault garbage_to_the_socket() {
  return peers("a line without an end to the run's socket", [](Run& run, Random&) {
    std::optional<SocketClient> client;
    const std::string block(1 << 20, 'x');
    run.run_until(
        [&] {
          if (!client || !client->connected() || client->send(block) < 0) {
            client.emplace(run.session_directory() + "/socket", SOCK_NONBLOCK);
          }
          return false;
        },
        flood_ms);
  });
}

// A launcher that takes a second to reach a host, as ssh may.
std::string late_launcher(const Start& start) {
  const std::string path = start.folder + "/launcher";
  std::ofstream(path) << "#!/bin/sh\nsleep 1\nexec " << start.environment.at("SHARDSCOPE_LAUNCHER") << " \"$@\"\n";
  std::filesystem::permissions(path, std::filesystem::perms::owner_all);
  return path;
}

// Connections to the port at which the agents of the hosts come, from before they come, for some time. None of them
// says anything. Once they have ceased the agents get in.
Fault flood_of_the_agents(const std::string& name, int64_t milliseconds, std::set<int> codes) {
  const bool ends = milliseconds < flood_ms;
  FaultOnHosts flood(name, 2, at_start, {"", std::move(codes), 90});
  flood.fault().prepare = [prepare = flood.fault().prepare](Start& start, Random& random) {
    prepare(start, random);
    ask_for_all_steps(start, 500);
    start.environment["SHARDSCOPE_LAUNCHER"] = late_launcher(start);
  };
  if (!ends) flood.fault().expected.said_by_failed = flood_words;
  flood.fault().check = [](const Run& run) {
    if (run.code() == 0) check_all_steps(run);
  };
  return flood.injected_by([milliseconds](Run& run, const Hosts&) {
    const auto listens = [&] { return !listening_ports(run.launcher()).empty(); };
    if (!run.run_until(listens, 10'000)) throw Missed{};
    const TcpFlood flood(run.launcher(), listening_ports(run.launcher()));
    run.run_until([&] { return !listens(); }, milliseconds);  // all agents have come
  });
}

}  // namespace

std::vector<Fault> unauthenticated_peers() {
  const Process mpirun = [](Run&run) { return run.mpirun(); }, rank = [](Run&run) { return run.rank(); };
  return {a_byte_held("mpirun's ports", mpirun),
          a_byte_held("a rank's ports", rank),
          garbage("mpirun's ports", mpirun),
          garbage("a rank's ports", rank),
          ports_beyond_the_loopback(),
          garbage_to_the_socket(),
          flood_of_the_agents("connections to the agents' port, for 3 s", 3000, {0}),
          flood_of_the_agents("connections to the agents' port, without end", flood_ms, {0, 1})};
}

}  // namespace shardscope::faults
