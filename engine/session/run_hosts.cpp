#include "engine/session/run_hosts.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <nlohmann/json.hpp>
#include <numeric>

#include "engine/base/error.h"
#include "engine/base/plural.h"
#include "engine/plan/host_memory.h"
#include "engine/session/host_network.h"
#include "engine/session/processes.h"
#include "engine/session/telemetry.h"

namespace shardscope {

namespace {

using nlohmann::json;

constexpr int64_t ask_interval_ns = 100'000'000;
constexpr int64_t launcher_ns = 4'000'000'000;
constexpr int hosts_poll_ms = 20;
constexpr std::string_view name_prefix =
    "run-host-";  // resolves nowhere, so that mpirun takes none for its own machine

std::string mpirun_name(size_t host) { return fmt::format("{}{}", name_prefix, host); }

std::optional<size_t> host_of_mpirun_name(const std::string& name, size_t hosts) {
  if (!name.starts_with(name_prefix)) return {};
  size_t host = 0;
  const char* end = name.data() + name.size();
  if (std::from_chars(name.data() + name_prefix.size(), end, host).ptr != end || host >= hosts) return {};
  return host;
}

double seconds(int64_t ns) { return static_cast<double>(ns) * 1e-9; }

int exit_code_of(int wait_status) { return WIFEXITED(wait_status) ? WEXITSTATUS(wait_status) : 1; }

// Which rank failed first is asked across hosts, whose clocks differ; all else in a report is compared within it.
void shift_failures(HostReport& report, int64_t offset_ns) {
  for (RankReport& rank : report.ranks) {
    if (rank.observation.entry.failed_ns != 0) rank.observation.entry.failed_ns += offset_ns;
    if (rank.observation.status && rank.observation.status->failed_ns != 0)
      rank.observation.status->failed_ns += offset_ns;
  }
}

}  // namespace

RunHosts::RunHosts(RunHostsOptions options, const std::string& session_directory, const Files& files)
    : options_(std::move(options)),
      port_([this](uint32_t host) {
        return host < hosts_.size() && !hosts_[host].link ? hosts_[host].secret : std::string();
      }),
      shell_(session_directory + "/shell") {
  json named = json::object();
  for (const auto& [name, text] : files) named[name] = text;
  setup_files_ = named.dump();
  now_ns_ = started_ns_ = clock_.tick(monotonic_ns());
  hosts_.resize(options_.hosts.size());
  for (size_t i = 0; i < hosts_.size(); ++i) {
    hosts_[i].place = options_.hosts[i];
    hosts_[i].secret = new_host_secret();
    launch(hosts_[i], static_cast<uint32_t>(i),
           port_.listen_at(own_address_towards(hosts_[i].place.name, options_.interface)));
  }
}

RunHosts::~RunHosts() { end(0); }

void RunHosts::launch(Host& host, uint32_t number, const std::string& where) {
  const std::vector<std::string> agent = {options_.program, "host-agent",          "--connect", where,
                                          "--host",         std::to_string(number)};
  host.launcher = std::make_unique<ChildProcess>(launch_command(options_.launcher, host.place.name, agent),
                                                 ChildProcess::Environment{}, "", host.secret + "\n");
}

void RunHosts::add_poll_entries(std::vector<pollfd>& entries) const {
  port_.add_poll_entries(entries);
  add_link_entries(entries);
  shell_.add_poll_entries(entries);
}

void RunHosts::add_link_entries(std::vector<pollfd>& entries) const {
  for (const Host& host : hosts_) {
    if (host.link) entries.push_back({host.link->socket(), host.link->poll_events(), 0});
  }
}

RunHosts::News RunHosts::serve() {
  News news;
  now_ns_ = clock_.tick(monotonic_ns());
  take_agents();
  take_shell_requests();
  for (Host& host : hosts_) {
    read_launcher(host, news);
    on_readable(host, news);
    ask(host);
  }
  check_deadlines(news);
  return news;
}

void RunHosts::take_agents() {
  for (HostLink& link : port_.serve(now_ns_)) welcome(std::move(link));
  if (std::ranges::all_of(hosts_, [](const Host& host) { return host.link.has_value(); })) port_.close();
}

void RunHosts::welcome(HostLink link) {
  Host& host = hosts_[link.host()];
  if (host.link) return;
  host.link = std::move(link);
  host.asked_ns = now_ns_;
  std::vector<int> ranks(static_cast<size_t>(host.place.ranks));
  std::iota(ranks.begin(), ranks.end(), host.place.first_rank);
  host.link->send(HostFrameKind::setup, json{{"ranks", ranks},
                                             {"world_size", world_size()},
                                             {"rank_bytes", options_.rank_bytes},
                                             {"silence_ns", options_.silence_ns},
                                             {"mpi_token", options_.mpi_token},
                                             {"mpi_networks", networks()},
                                             {"files", json::parse(setup_files_)}}
                                            .dump());
}

void RunHosts::on_readable(Host& host, News& news) {
  if (!host.link) return;
  try {
    host.link->write();
    host.link->read();
    while (auto frame = host.link->take()) {
      host.asked_ns.reset();
      handle(host, *frame, news);
    }
  } catch (const std::exception& error) {
    host.link.reset();
    if (!host.ended) lose(host, fmt::format("its agent {}", error.what()), news);
  }
}

void RunHosts::handle(Host& host, const HostFrame& frame, News& news) {
  switch (frame.kind) {
    case HostFrameKind::ready: return register_host(host, json::parse(frame.payload), news);
    case HostFrameKind::report: {
      if (!host.ready) return lose(host, "its agent reports before it is ready", news);
      HostReport report = decode_host_report(frame.payload);
      host.offset_ns = std::min(host.offset_ns, monotonic_ns() - report.now_ns);
      host.ask_at_once = report.more;
      shift_failures(report, host.offset_ns);
      const int first = host.place.first_rank, end = first + host.place.ranks;
      const bool is_own = std::ranges::all_of(
          report.ranks, [&](const RankReport& rank) { return rank.rank >= first && rank.rank < end; });
      if (!is_own) return lose(host, "its agent reports ranks of another host", news);
      news.reports.push_back(std::move(report));
      return;
    }
    case HostFrameKind::output:
      news.lines.push_back({-1, fmt::format("{}: {}", host.place.name, frame.payload)});
      return;
    case HostFrameKind::exited: return take_exit(host, json::parse(frame.payload).at("status"), news);
    case HostFrameKind::ended: {
      const std::vector<std::string> left = json::parse(frame.payload).at("left");
      for (const std::string& text : left) news.left.push_back(fmt::format("host {}: {}", host.place.name, text));
      host.ended = true;
      return;
    }
    case HostFrameKind::failure: return lose(host, "its agent: " + frame.payload, news);
    default: return;
  }
}

void RunHosts::read_launcher(Host& host, News& news) {
  std::array<char, 4096> bytes;
  for (ssize_t got; (got = ::read(host.launcher->output(), bytes.data(), bytes.size())) > 0;) {
    try {
      host.launcher_lines.feed({bytes.data(), static_cast<size_t>(got)});
    } catch (const Failure&) {
    }
    while (auto line = host.launcher_lines.next_line()) {
      news.lines.push_back({-1, fmt::format("{}: {}", host.place.name, *line)});
      host.last_words = *line;
    }
  }
  const auto status = host.launcher->wait_status();
  if (!status || host.link || host.ended) return;
  const bool well = WIFEXITED(*status) && WEXITSTATUS(*status) == 0;
  if (well && !host.ready) return;  // a launcher may leave the agent alone
  lose(host, fmt::format("its agent could not be started, or has ended{}{}", said(host), port_.note()), news);
}

std::string RunHosts::said(const Host& host) const { return host.last_words.empty() ? "" : ": " + host.last_words; }

// One question at a time, so that a host is never asked to send more than is read.
void RunHosts::ask(Host& host) {
  if (!host.link || !host.ready || host.asked_ns ||
      (!host.ask_at_once && now_ns_ - host.last_asked_ns < ask_interval_ns))
    return;
  host.asked_ns = host.last_asked_ns = now_ns_;
  host.ask_at_once = false;
  try {
    host.link->send(HostFrameKind::ping);
    host.link->write();
  } catch (const Failure&) {  // that it is lost is noticed where it is received
  }
}

void RunHosts::take_exit(Host& host, int wait_status, News& news) {
  host.runs = false;
  // A shell that started it tells of a signal by its exit code.
  const int code = exit_code_of(wait_status);
  const int signal = WIFSIGNALED(wait_status) ? WTERMSIG(wait_status) : code > 128 && code <= 192 ? code - 128 : 0;
  if (signal > 0) lose(host, "Open MPI's daemon was killed by " + signal_name(signal), news);
  shell_.answer(mpirun_name(static_cast<size_t>(&host - hosts_.data())), code);
}

void RunHosts::register_host(Host& host, const json& machine, News& news) {
  host.agent = {machine.at("pid"), machine.at("start_time")};
  const RankRange ranks{host.place.first_rank, host.place.ranks};
  host.unfit = unfit_reason(machine, ranks.count, options_.needed_bytes, ranks.sum(options_.checkpoint_bytes));
  host.ready = !host.unfit;
  if (host.ready) {
    const int first = host.place.first_rank;
    news.lines.push_back({LogMessage::supervisor,
                          fmt::format("host {}: ranks {} to {}, {}, {:.1f} GiB, {}", host.place.name, first,
                                      first + host.place.ranks - 1, counted(machine.at("cores").get<int>(), "core"),
                                      machine.at("memory_bytes").get<double>() / (1 << 30),
                                      machine.at("instruction_set").get<std::string>())});
  }
  judge(false, news);
}

std::vector<JudgedHost> RunHosts::judged() const {
  std::vector<JudgedHost> hosts;
  for (const Host& host : hosts_) hosts.push_back({host.place, host.ready, host.unfit, host.last_words});
  return hosts;
}

void RunHosts::judge(bool is_late, News& news) {
  const auto waited = is_late ? std::optional(seconds(options_.start_ns)) : std::nullopt;
  if (auto why = judge_start(judged(), waited, port_.note()); why && !std::exchange(failed_, true)) {
    news.failure = std::move(why);
  }
}

void RunHosts::tell(HostFrameKind kind) {
  for (Host& host : hosts_) {
    if (!host.link) continue;
    try {
      host.link->send(kind);
      host.link->write();
    } catch (const Failure&) {  // that it is lost is noticed where it is received
    }
  }
}

void RunHosts::take_shell_requests() {
  for (const ShellServer::Request& request : shell_.serve()) {
    const auto number = host_of_mpirun_name(request.host, hosts_.size());
    if (!number || !hosts_[*number].link) shell_.answer(request.host, 1);
    else launch_ranks(hosts_[*number], request.command);
  }
}

void RunHosts::launch_ranks(Host& host, const std::string& command) {
  host.runs = true;
  try {
    host.link->send(HostFrameKind::launch, json{{"command", command}}.dump());
  } catch (const Failure&) {  // as in ask()
  }
}

void RunHosts::check_deadlines(News& news) {
  for (Host& host : hosts_) {
    if (host.ended) continue;
    if (host.link && host.asked_ns && now_ns_ - *host.asked_ns > options_.silence_ns) {
      host.silent = true;
      lose(host, fmt::format("does not answer for {:g} s (--deadline host=SECONDS)", seconds(options_.silence_ns)),
           news);
    }
  }
  if (!is_ready() && now_ns_ - started_ns_ > options_.start_ns) judge(true, news);
}

void RunHosts::lose(Host& host, const std::string& how, News& news) {
  fail(fmt::format("{}: {}", host_title(host.place), how), news);
}

// What comes first is the cause; hosts that are unfit would be the next.
void RunHosts::fail(std::string why, News& news) {
  if (std::exchange(failed_, true)) return;
  const std::string unfit = unfit_hosts(judged());
  news.failure = unfit.empty() ? std::move(why) : why + "; " + unfit;
}

int RunHosts::world_size() const {
  return std::accumulate(hosts_.begin(), hosts_.end(), 0,
                         [](int sum, const Host& host) { return sum + host.place.ranks; });
}

bool RunHosts::has_running() const { return std::ranges::any_of(hosts_, &Host::runs); }

bool RunHosts::is_ready() const { return std::ranges::all_of(hosts_, &Host::ready); }

// With those of other machines; the loopback's where there is no other.
std::set<std::string> RunHosts::own_addresses() const {
  const std::vector<std::string>& addresses = port_.addresses();
  std::set<std::string> found;
  for (const std::string& address : addresses) {
    if (addresses.size() == 1 || !address.starts_with("127.")) found.insert(address);
  }
  return found;
}

std::string RunHosts::own_address() const {
  const std::set<std::string> addresses = own_addresses();
  return addresses.size() == 1 ? *addresses.begin() : "";
}

std::string RunHosts::networks() const {
  std::set<std::string> found;
  for (const std::string& address : own_addresses()) found.insert(network_of(address));
  return fmt::format("{}", fmt::join(found, ","));
}

MpirunHosts RunHosts::mpirun_hosts() const {
  MpirunHosts hosts;
  for (size_t i = 0; i < hosts_.size(); ++i) {
    hosts.list += fmt::format("{}{}:{}", i == 0 ? "" : ",", mpirun_name(i), hosts_[i].place.ranks);
  }
  hosts.networks = networks();
  hosts.shell_socket = shell_.path();
  return hosts;
}

RunHosts::News RunHosts::end(int64_t patience_ns) {
  News news;
  failed_ = true;
  port_.close();
  tell(HostFrameKind::end);
  const int64_t deadline = monotonic_ns() + patience_ns;
  auto await = [&](const auto& is_awaited) {
    while (std::ranges::any_of(hosts_, is_awaited) && monotonic_ns() < deadline) {
      std::vector<pollfd> entries;
      add_link_entries(entries);
      ::poll(entries.data(), entries.size(), hosts_poll_ms);
      for (Host& host : hosts_) on_readable(host, news);
    }
  };
  await([](const Host& host) { return host.link && !host.ended && !host.silent; });
  await([](Host& host) { return host.ended && !host.launcher->wait_status(); });
  for (Host& host : hosts_) {
    if (!host.ended && host.agent.pid != 0 && patience_ns > 0) end_by_launcher(host, news);
    host.ended = true;
    host.link.reset();
  }
  return news;
}

// An agent that does not answer may be stopped on a host that can be reached all the same.
void RunHosts::end_by_launcher(const Host& host, News& news) {
  const std::vector<std::string> command = {options_.program, "host-agent", "--end",
                                            fmt::format("{}:{}", host.agent.pid, host.agent.start_time)};
  ChildProcess launcher(launch_command(options_.launcher, host.place.name, command), {});
  std::optional<int> status;
  for (const int64_t start = monotonic_ns(); !status && monotonic_ns() - start < launcher_ns;) {
    ::poll(nullptr, 0, hosts_poll_ms);
    status = launcher.wait_status();
  }
  if (status && WIFEXITED(*status) && WEXITSTATUS(*status) == 0) return;
  news.left.push_back(
      fmt::format("host {} cannot be reached: what still runs there ends by itself {:g} s after it last received a "
                  "message of this run",
                  host.place.name, seconds(options_.silence_ns)));
}

}  // namespace shardscope
