#include "tests/faults/trial_hosts.h"

#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>

namespace shardscope::faults {

namespace {

const std::string script = SHARDSCOPE_SOURCE_DIR "/tests/hosts/hosts.sh";

bool run_script(const std::string& arguments) {
  return std::system(fmt::format("'{}' {} >/dev/null 2>&1", script, arguments).c_str()) == 0;
}

bool can_make_hosts() {
  static const bool can = std::filesystem::exists(script) && ::geteuid() == 0 && Hosts(2).is_made();
  return can;
}

}  // namespace

Hosts::Hosts(int count) : count_(count) {
  static std::atomic<int> made = 0;
  prefix_ = fmt::format("f{}", (::getpid() * 17 + made++) % 10'000);
  run_script(fmt::format("remove {} {}", prefix_, count_));
  is_made_ = run_script(fmt::format("make {} {}", prefix_, count_));
}

Hosts::~Hosts() { run_script(fmt::format("remove {} {}", prefix_, count_)); }

std::string Hosts::name(int host) const { return fmt::format("{}h{}", prefix_, host); }

void Hosts::set_link(int host, bool up) const { run_script(fmt::format("link {} {}", name(host), up ? "up" : "down")); }

void Hosts::take(Start& start) const {
  std::string list;
  for (int host = 0; host < count_; ++host) {
    list += fmt::format("{}{}:{}", host ? "," : "", name(host), start.ranks / count_);
    start.host_folders.push_back("/tmp/shardscope-hosts/" + name(host));
  }
  start.before = {script, "on", name(0)};
  start.environment["SHARDSCOPE_LAUNCHER"] = script + " launch";
  start.arguments.insert(start.arguments.end(), {"--hosts", list});
}

int Hosts::host_of(const Run& run) const { return run.victim() * count_ / run.start().ranks; }

FaultOnHosts::FaultOnHosts(const std::string& name, int count, std::vector<Phase> phases, Expected expected) {
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

Fault FaultOnHosts::injected_by(const std::function<void(Run&, const Hosts&)>& inject) {
  fault_.inject = [hosts = hosts_, inject](Run& run, Random&) { inject(run, **hosts); };
  return fault_;
}

}  // namespace shardscope::faults
