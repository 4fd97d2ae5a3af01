#include "engine/plan/device_profile.h"

#include <fmt/format.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>

#include "engine/base/error.h"

namespace shardscope {

namespace {

struct Rate {
  const char* key;
  double DeviceProfile::*field;
};

constexpr Rate rates[] = {{"cores", &DeviceProfile::cores},
                          {"matrix_flops_per_core", &DeviceProfile::matrix_flops_per_core},
                          {"memory_bytes_per_core", &DeviceProfile::memory_bytes_per_core},
                          {"collective_bytes_per_core", &DeviceProfile::collective_bytes_per_core},
                          {"collective_latency", &DeviceProfile::collective_latency},
                          {"step_latency", &DeviceProfile::step_latency}};

constexpr const char* bf16_key = "matrix_flops_per_core_bf16";
constexpr const char* bf16_method_key = "bf16_products";

}  // namespace

int DeviceProfile::threads_per_rank(int ranks) const { return std::max(1, static_cast<int>(cores) / ranks); }

std::filesystem::path profile_path() {
  if (const char* path = std::getenv("SHARDSCOPE_PROFILE")) return path;
  if (const char* config = std::getenv("XDG_CONFIG_HOME"))
    return std::filesystem::path(config) / "shardscope/device_profile.json";
  const char* home = std::getenv("HOME");
  return std::filesystem::path(home ? home : "/") / ".config/shardscope/device_profile.json";
}

DeviceProfile load_profile(const std::filesystem::path& path) {
  std::ifstream file(path);
  nlohmann::json json = nlohmann::json::parse(file, nullptr, false);
  auto fail = [&](const std::string& what) {
    throw Failure(Error{"device_profile", what, path.string(), "delete it, or run 'shardrun calibrate'"});
  };
  if (!json.is_object()) fail("this is not a device profile");
  DeviceProfile profile;
  profile.name = json.value("name", profile.name);
  for (const Rate& rate : rates) {
    auto found = json.find(rate.key);
    if (found == json.end() || !found->is_number() || !(found->get<double>() > 0)) {
      fail(fmt::format("'{}' is missing or not above 0", rate.key));
    }
    profile.*rate.field = found->get<double>();
  }
  if (auto found = json.find(bf16_key); found != json.end()) {
    if (!found->is_number() || !(found->get<double>() > 0)) fail(fmt::format("'{}' is not above 0", bf16_key));
    profile.matrix_flops_per_core_bf16 = found->get<double>();
  }
  if (auto found = json.find(bf16_method_key); found != json.end()) {
    if (!found->is_string()) fail(fmt::format("'{}' is not a text", bf16_method_key));
    profile.bf16_products = found->get<std::string>();
  }
  return profile;
}

void save_profile(const DeviceProfile& profile, const std::filesystem::path& path) {
  nlohmann::ordered_json json{{"name", profile.name}};
  for (const Rate& rate : rates) json[rate.key] = profile.*rate.field;
  if (profile.matrix_flops_per_core_bf16 > 0) json[bf16_key] = profile.matrix_flops_per_core_bf16;
  if (!profile.bf16_products.empty()) json[bf16_method_key] = profile.bf16_products;
  std::error_code ignored;
  if (path.has_parent_path()) std::filesystem::create_directories(path.parent_path(), ignored);
  std::ofstream file(path);
  file << json.dump(2) << '\n';
  if (!file.flush()) throw Failure(Error{"unwritable_file", "cannot be written", path.string(), ""});
}

DeviceProfile host_profile() {
  DeviceProfile profile;
  std::error_code ignored;
  if (std::filesystem::exists(profile_path(), ignored)) profile = load_profile(profile_path());
  cpu_set_t usable;
  if (::sched_getaffinity(0, sizeof usable, &usable) == 0 && CPU_COUNT(&usable) != static_cast<int>(profile.cores)) {
    profile.cores = CPU_COUNT(&usable);
    profile.name = fmt::format("{}-core host", CPU_COUNT(&usable));
  }
  long pages = ::sysconf(_SC_PHYS_PAGES), page_bytes = ::sysconf(_SC_PAGE_SIZE);
  if (pages > 0 && page_bytes > 0) profile.memory_bytes = int64_t{pages} * page_bytes;
  return profile;
}

}  // namespace shardscope
