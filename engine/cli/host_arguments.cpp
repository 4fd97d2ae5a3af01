#include "engine/cli/host_arguments.h"

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <limits>
#include <sstream>

#include "engine/base/error.h"
#include "engine/base/input_file.h"
#include "engine/compile/plan_request.h"
#include "engine/mesh/device_count.h"

namespace shardscope {

namespace {

constexpr int64_t most_file_bytes = 1 << 20;

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

std::vector<std::string> words(const std::string& text) {
  std::istringstream stream(text);
  return std::vector<std::string>(std::istream_iterator<std::string>(stream), std::istream_iterator<std::string>());
}

}  // namespace

void HostArguments::add_list_to(CLI::App& command) {
  auto* named =
      command.add_option("--hosts", list, "hosts of the ranks, in order: h0:4,h1:4 (docs/hosts.md)")->type_name("LIST");
  auto* from_file =
      command.add_option("--hostfile", file, "the same from a file, as mpirun reads it: h0 slots=4")->type_name("FILE");
  named->excludes(from_file);
}

void HostArguments::add_to(CLI::App& command) {
  add_list_to(command);
  command
      .add_option("--launcher", launcher,
                  "runs a command on a host, called as LAUNCHER HOST COMMAND; by default ssh, or srun")
      ->type_name("COMMAND")
      ->envname("SHARDSCOPE_LAUNCHER");
  command
      .add_option("--interface", interface, "network of the run, by name or own address; by default that to each host")
      ->type_name("NAME");
}

std::vector<HostRanks> HostArguments::hosts(int ranks) const {
  std::vector<HostSlots> all;
  Place place = at_argument("--hosts");
  if (!list.empty()) {
    all = parse_host_list(list);
  } else if (!file.empty()) {
    all = parse_host_file(read_text(file, most_file_bytes, "bad_hosts"), file);
    place = at_argument("--hostfile " + file);
  } else if (const std::string nodes = environment("SLURM_JOB_NODELIST"); !nodes.empty()) {
    all = parse_slurm_hosts(nodes, environment("SLURM_TASKS_PER_NODE"));
    if (all.size() == 1) return {};
    place = at_name("SLURM_JOB_NODELIST");
  } else {
    return {};
  }
  return lay_over_hosts(all, ranks, place);
}

RunConfig HostArguments::with_hosts(RunConfig config) const {
  const int64_t devices = device_count(config.mesh_axes);
  const auto ranks = static_cast<int>(std::min<int64_t>(devices, std::numeric_limits<int>::max()));
  if (const std::vector<HostRanks> named = hosts(ranks); !named.empty()) config.hosts = host_list_text(named);
  return config;
}

std::optional<RunHostsOptions> HostArguments::options(const RunConfig& config, const std::string& program) const {
  RunHostsOptions options;
  options.hosts = hosts_of(config);
  if (options.hosts.empty()) return std::nullopt;
  options.launcher = words(launcher);
  options.interface = interface;
  options.program = program;
  return options;
}

}  // namespace shardscope
