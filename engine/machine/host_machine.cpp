#include "engine/machine/host_machine.h"

#include <fmt/format.h>
#include <sched.h>

#include <cstdlib>

#include "engine/base/control_group.h"
#include "engine/base/error.h"
#include "engine/machine/machine_file.h"
#include "engine/machine/machine_library.h"

namespace shardscope {

namespace {

namespace fs = std::filesystem;

// The cores and the memory that this process may use.
void take_host(Machine& machine) {
  cpu_set_t usable;
  if (::sched_getaffinity(0, sizeof usable, &usable) == 0 && CPU_COUNT(&usable) != machine.device.cores) {
    machine.device.cores = CPU_COUNT(&usable);
    machine.name = fmt::format("{}-core host", CPU_COUNT(&usable));
  }
  if (const int64_t bytes = usable_memory_bytes(); bytes > 0) machine.device.memory_bytes = bytes;
}

bool is_missing(const fs::path& path) {
  std::error_code ignored;
  return fs::status(path, ignored).type() == fs::file_type::not_found;
}

fs::path configuration_folder() {
  if (const char* config = std::getenv("XDG_CONFIG_HOME")) return fs::path(config) / "shardscope";
  const char* home = std::getenv("HOME");
  return fs::path(home ? home : "/") / ".config/shardscope";
}

}  // namespace

Machine reference_host() {
  Machine machine;
  machine.name = "two-core host";
  machine.device.kind = DeviceKind::host_cores;
  machine.device.cores = 2;
  machine.device.memory_bytes = int64_t{16} << 30;
  machine.device.instruction_latency = 3e-6;
  machine.device.memory = {{"memory", 0, 8e9, false, ""}};
  machine.device.products[Precision::f32].flops_per_second = 100e9;
  Level host;
  host.name = "host";
  host.kind = LevelKind::shared_memory;
  host.bytes_per_second = 5e9;
  host.latency = 60e-6;
  host.shared_by = Level::host_cores;
  machine.levels = {host};
  return machine;
}

Machine standard_host() {
  Machine machine = reference_host();
  take_host(machine);
  return machine;
}

Machine host_machine() {
  const char* named = std::getenv("SHARDSCOPE_PROFILE");
  fs::path path = machine_path();
  if (is_missing(path)) {
    path = configuration_folder() / "device_profile.json";
    if (named || is_missing(path)) return standard_host();
  }
  Machine machine = load_machine(path);
  take_host(machine);
  return machine;
}

Machine find_machine(const std::string& name) {
  if (name == host_name) return host_machine();
  if (std::optional<Machine> known = library_machine(name)) return *std::move(known);
  if (!name.ends_with(".json") && is_missing(name)) {
    const std::vector<std::string_view> known = library_names();
    std::vector<std::string> names{std::string(host_name)};
    names.insert(names.end(), known.begin(), known.end());
    const std::string called = fs::path(name).filename().string();
    throw Failure(Error{"unknown_machine", "no machine is called '" + called + "', and there is no file '" + name + "'",
                        "machine", name_hint(called, names)});
  }
  return load_machine(name);
}

fs::path machine_path() {
  if (const char* path = std::getenv("SHARDSCOPE_PROFILE")) return path;
  return configuration_folder() / "machine.json";
}

}  // namespace shardscope
