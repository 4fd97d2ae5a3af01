#include "engine/plan/device_profile.h"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <cstdlib>

#include "engine/base/control_group.h"
#include "engine/base/error.h"
#include "engine/base/input_file.h"
#include "engine/config/fault_list.h"
#include "engine/config/write.h"

namespace shardscope {

namespace {

namespace fs = std::filesystem;

// What of a machine or of the near future lies outside of these is a fault of the file.
template <class Owner>
struct Rate {
  const char* key;
  double Owner::*field;
  double low, high;
  bool required = true;
};

constexpr Rate<DeviceProfile> rates[] = {
    {"cores", &DeviceProfile::cores, 1, 65536},
    {"matrix_flops_per_core", &DeviceProfile::matrix_flops_per_core, 1e3, 1e18},
    {"memory_bytes_per_core", &DeviceProfile::memory_bytes_per_core, 1e3, 1e18},
    {"collective_bytes_per_core", &DeviceProfile::collective_bytes_per_core, 1e3, 1e18},
    {"collective_latency", &DeviceProfile::collective_latency, 1e-12, 1e3},
    {"step_latency", &DeviceProfile::step_latency, 1e-12, 1e3},
    {"matrix_flops_per_core_bf16", &DeviceProfile::matrix_flops_per_core_bf16, 1e3, 1e18, false}};

constexpr Rate<AxisLink> link_rates[] = {{"bytes_per_second", &AxisLink::bytes_per_second, 1e3, 1e18},
                                         {"latency", &AxisLink::latency, 1e-12, 1e3}};

constexpr const char *name_key = "name", *bf16_method_key = "bf16_products", *memory_key = "memory_bytes",
                     *hosts_key = "ranks_per_host", *links_key = "links";
constexpr int64_t max_bytes = 1 << 16;

[[noreturn]] void fail(const fs::path& path, const std::string& what) {
  throw Failure(Error{"device_profile", what, in_file(path.string()), "delete it, or run 'shardrun calibrate'"});
}

std::string text_of(const fs::path& path) {
  try {
    return InputFile(path.string()).text(max_bytes);
  } catch (const Failure& failure) {
    fail(path, failure.errors().front().message);
  }
}

// `prefix`: of the place of `json` in the file.
template <class Owner>
void read_rate(const JsonNode& json, const std::string& prefix, const Rate<Owner>& rate, Owner& owner,
               FaultList& faults) {
  using Kind = JsonNode::Kind;
  const JsonNode* node = json.find(rate.key);
  const std::string place = prefix + rate.key;
  if (!node) {
    if (rate.required) faults.fail(json.line, place, "missing_key", fmt::format("'{}' is missing", rate.key));
    return;
  }
  if (!node->is(Kind::integer) && !faults.expect(*node, place, Kind::number, "a number")) return;
  const double value = node->is(Kind::integer) ? static_cast<double>(node->integer) : node->number;
  if (value >= rate.low && value <= rate.high) {
    owner.*rate.field = value;
  } else {
    faults.fail(node->line, place, "out_of_range", fmt::format("{} is out of range", describe(*node)),
                fmt::format("{} to {}, as 'shardrun calibrate' measures it", rate.low, rate.high));
  }
}

void read_text(const JsonNode& json, const char* key, std::string& text, FaultList& faults) {
  const JsonNode* node = json.find(key);
  if (node && faults.expect(*node, key, JsonNode::Kind::string, "a text")) text = node->text;
}

void read_hosts(const JsonNode& json, std::vector<int>& ranks, FaultList& faults) {
  const JsonNode* node = json.find(hosts_key);
  if (!node || !faults.expect(*node, hosts_key, JsonNode::Kind::array, "a list of numbers")) return;
  for (const JsonNode& item : node->items) {
    if (auto count = faults.integer(item, hosts_key, 1, 1 << 20)) ranks.push_back(static_cast<int>(*count));
  }
}

void read_links(const JsonNode& json, std::vector<AxisLink>& links, FaultList& faults) {
  const JsonNode* node = json.find(links_key);
  if (!node || !faults.expect(*node, links_key, JsonNode::Kind::object, "an object of mesh axes")) return;
  for (size_t i = 0; i < node->items.size(); ++i) {
    const std::string place = fmt::format("{}.{}", links_key, node->keys[i]);
    if (!faults.expect(node->items[i], place, JsonNode::Kind::object, "a link: bytes_per_second and latency")) continue;
    AxisLink& link = links.emplace_back(AxisLink{node->keys[i], 0, 0});
    for (const Rate<AxisLink>& rate : link_rates) read_rate(node->items[i], place + ".", rate, link, faults);
  }
}

// The cores and the memory that this process may use.
void take_host(DeviceProfile& profile) {
  cpu_set_t usable;
  if (::sched_getaffinity(0, sizeof usable, &usable) == 0 && CPU_COUNT(&usable) != static_cast<int>(profile.cores)) {
    profile.cores = CPU_COUNT(&usable);
    profile.name = fmt::format("{}-core host", CPU_COUNT(&usable));
  }
  if (const int64_t bytes = usable_memory_bytes(); bytes > 0) profile.memory_bytes = bytes;
}

}  // namespace

int DeviceProfile::ranks_on_host(int ranks) const {
  return ranks_per_host.empty() ? ranks : *std::ranges::max_element(ranks_per_host);
}

int DeviceProfile::threads_per_rank(int ranks) const {
  return std::max(1, static_cast<int>(cores) / ranks_on_host(ranks));
}

int DeviceProfile::host_of(int rank) const {
  int host = 0;
  for (int end = 0; host + 1 < static_cast<int>(ranks_per_host.size()); ++host) {
    end += ranks_per_host[static_cast<size_t>(host)];
    if (rank < end) break;
  }
  return host;
}

std::filesystem::path profile_path() {
  if (const char* path = std::getenv("SHARDSCOPE_PROFILE")) return path;
  if (const char* config = std::getenv("XDG_CONFIG_HOME"))
    return std::filesystem::path(config) / "shardscope/device_profile.json";
  const char* home = std::getenv("HOME");
  return std::filesystem::path(home ? home : "/") / ".config/shardscope/device_profile.json";
}

DeviceProfile load_profile(const fs::path& path) { return parse_profile(text_of(path), path.string()); }

DeviceProfile parse_profile(const std::string& text, const std::string& name) {
  const JsonNode json = read_json(text, name);
  std::vector<Error> errors;
  FaultList faults(name, errors);
  DeviceProfile profile;
  if (faults.expect(json, "", JsonNode::Kind::object, "a device profile", "run 'shardrun calibrate'")) {
    faults.check_repeated_keys(json, "");
    read_text(json, name_key, profile.name, faults);
    for (const Rate<DeviceProfile>& rate : rates) read_rate(json, "", rate, profile, faults);
    read_text(json, bf16_method_key, profile.bf16_products, faults);
    const JsonNode* memory = json.find(memory_key);
    if (auto bytes = memory ? faults.integer(*memory, memory_key, 1, int64_t{1} << 60) : std::nullopt) {
      profile.memory_bytes = *bytes;
    }
    read_hosts(json, profile.ranks_per_host, faults);
    read_links(json, profile.links, faults);
  }
  if (!errors.empty()) throw Failure(std::move(errors));
  return profile;
}

std::string profile_text(const DeviceProfile& profile) {
  JsonNode json = JsonNode::object();
  json.add(name_key, JsonNode::of(profile.name));
  for (const Rate<DeviceProfile>& rate : rates) {
    if (rate.required || profile.*rate.field > 0) json.add(rate.key, JsonNode::of(profile.*rate.field));
  }
  if (!profile.bf16_products.empty()) json.add(bf16_method_key, JsonNode::of(profile.bf16_products));
  json.add(memory_key, JsonNode::of(profile.memory_bytes));
  if (!profile.ranks_per_host.empty()) {
    JsonNode& hosts = json.add(hosts_key, JsonNode::array());
    for (int ranks : profile.ranks_per_host) hosts.items.push_back(JsonNode::of(int64_t{ranks}));
  }
  if (!profile.links.empty()) {
    JsonNode& links = json.add(links_key, JsonNode::object());
    for (const AxisLink& link : profile.links) {
      JsonNode& one = links.add(link.axis, JsonNode::object());
      for (const Rate<AxisLink>& rate : link_rates) one.add(rate.key, JsonNode::of(link.*rate.field));
    }
  }
  return print_json(json);
}

void save_profile(const DeviceProfile& profile, const fs::path& path) {
  std::error_code ignored;
  if (path.has_parent_path()) fs::create_directories(path.parent_path(), ignored);
  replace_file(path, profile_text(profile));
}

DeviceProfile standard_profile() {
  DeviceProfile profile;
  take_host(profile);
  return profile;
}

DeviceProfile host_profile() {
  std::error_code ignored;
  if (fs::status(profile_path(), ignored).type() == fs::file_type::not_found) return standard_profile();
  DeviceProfile profile = load_profile(profile_path());
  take_host(profile);
  return profile;
}

}  // namespace shardscope
