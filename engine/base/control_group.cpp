#include "engine/base/control_group.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>

#include "engine/base/kernel_file.h"

namespace shardscope {

namespace {

struct Mount {
  std::string root;  // what of the hierarchy is seen at `folder`
  std::string folder;
};

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, separator);) parts.push_back(part);
  return parts;
}

bool contains(const std::string& list, const std::string& name) {
  const std::vector<std::string> names = split(list, ',');
  return std::find(names.begin(), names.end(), name) != names.end();
}

// Of a controller of version 1; of version 2 where `controller` is empty. A line of mountinfo: "32 31 0:29 ROOT FOLDER
// options ... - cgroup SOURCE rw,memory".
std::optional<Mount> find_mount(const std::string& controller) {
  for (const std::string& line : split(read_kernel_file("/proc/self/mountinfo"), '\n')) {
    const size_t dash = line.find(" - ");
    if (dash == std::string::npos) continue;
    const std::vector<std::string> place = split(line.substr(0, dash), ' ');
    const std::vector<std::string> kind = split(line.substr(dash + 3), ' ');
    if (place.size() < 5 || kind.size() < 3) continue;
    const bool wanted =
        controller.empty() ? kind[0] == "cgroup2" : kind[0] == "cgroup" && contains(kind[2], controller);
    if (wanted) return Mount{place[3], place[4]};
  }
  return std::nullopt;
}

// "4:memory:/a/b" of version 1, "0::/a/b" of version 2.
std::optional<std::string> group_path(const std::string& process, const std::string& controller) {
  for (const std::string& line : split(read_kernel_file("/proc/" + process + "/cgroup"), '\n')) {
    const size_t first = line.find(':'), second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    if (controller.empty() ? controllers.empty() : contains(controllers, controller)) return line.substr(second + 1);
  }
  return std::nullopt;
}

std::vector<std::string> folders_upwards(const Mount& mount, std::string path) {
  if (mount.root != "/" && path.starts_with(mount.root)) path.erase(0, mount.root.size());
  std::vector<std::string> folders;
  while (path.size() > 1) {
    if (const std::string folder = mount.folder + path; ::access(folder.c_str(), F_OK) == 0) folders.push_back(folder);
    path.erase(path.rfind('/'));
  }
  folders.push_back(mount.folder);
  return folders;
}

ControlGroup find_group(const std::string& process, const std::string& controller) {
  const std::optional<std::string> path = group_path(process, controller);
  const std::optional<Mount> mount = path ? find_mount(controller) : std::nullopt;
  if (!mount) return {};
  return {folders_upwards(*mount, *path), controller.empty()};
}

std::optional<int64_t> number(const std::string& text) {
  int64_t value = 0;
  const bool is_number = std::from_chars(text.data(), text.data() + text.size(), value).ec == std::errc{};
  return is_number ? std::optional(value) : std::nullopt;
}

std::optional<int64_t> keyed_number(const std::string& path, const std::string& key) {
  for (const std::string& line : split(read_kernel_file(path), '\n')) {
    if (line.starts_with(key + " ")) return number(line.substr(key.size() + 1));
  }
  return std::nullopt;
}

// Of a memory group; version 2 counts those below with it.
std::optional<int64_t> kills_in(const std::string& folder, bool unified) {
  return keyed_number(folder + (unified ? "/memory.events" : "/memory.oom_control"), "oom_kill");
}

}  // namespace

ControlGroup unified_control_group(const std::string& process) { return find_group(process, ""); }

ControlGroup control_group(const std::string& process, const std::string& controller) {
  ControlGroup group = find_group(process, controller);
  return group.folders.empty() ? unified_control_group(process) : group;
}

std::optional<int64_t> memory_limit_bytes() {
  const ControlGroup group = control_group("self", "memory");
  constexpr int64_t unlimited = int64_t{1} << 60;  // version 1 writes none as the largest number of pages
  std::optional<int64_t> least;
  for (const std::string& folder : group.folders) {
    const char* file = group.unified ? "/memory.max" : "/memory.limit_in_bytes";
    const std::optional<int64_t> limit = number(read_kernel_file(folder + file));
    if (limit && *limit < least.value_or(unlimited)) least = limit;
  }
  return least;
}

int64_t usable_memory_bytes() {
  const int64_t machine = int64_t{::sysconf(_SC_PHYS_PAGES)} * ::sysconf(_SC_PAGE_SIZE);
  return std::min(std::max<int64_t>(machine, 0), memory_limit_bytes().value_or(machine));
}

OutOfMemoryKills::OutOfMemoryKills(int pid) {
  const ControlGroup group = control_group(std::to_string(pid), "memory");
  if (!group.folders.empty() && kills_in(group.folders[0], group.unified)) folder_ = group.folders[0];
  unified_ = group.unified;
  before_ = kills();
}

OutOfMemoryKills::Kills OutOfMemoryKills::kills() const {
  if (folder_.empty()) return {{"", keyed_number("/proc/vmstat", "oom_kill").value_or(0)}};
  Kills kills{{folder_, kills_in(folder_, unified_).value_or(0)}};
  if (unified_) return kills;
  std::error_code gone;
  for (std::filesystem::recursive_directory_iterator at(folder_, gone), end; at != end; at.increment(gone)) {
    if (at->is_directory(gone)) kills[at->path().string()] = kills_in(at->path().string(), unified_).value_or(0);
  }
  return kills;
}

// Groups may come and go meanwhile.
int64_t OutOfMemoryKills::since() const {
  int64_t sum = 0;
  for (const auto& [folder, count] : kills()) {
    const auto known = before_.find(folder);
    sum += std::max<int64_t>(count - (known == before_.end() ? 0 : known->second), 0);
  }
  return sum;
}

bool is_frozen(int pid) {
  const std::string process = std::to_string(pid);
  for (const std::string& folder : find_group(process, "freezer").folders) {
    const std::string state = read_kernel_file(folder + "/freezer.state");
    if (!state.empty() && !state.starts_with("THAWED")) return true;
  }
  for (const std::string& folder : unified_control_group(process).folders) {
    if (keyed_number(folder + "/cgroup.events", "frozen") == 1) return true;
  }
  return false;
}

void resume_alone(const std::set<int>& processes) {
  for (int pid : processes) {
    for (const std::string& folder : find_group(std::to_string(pid), "freezer").folders) {
      if (number(read_kernel_file(folder + "/freezer.self_freezing")) != 1) continue;
      std::istringstream members(read_kernel_file(folder + "/cgroup.procs"));
      const bool alone =
          std::all_of(std::istream_iterator<int>(members), {}, [&](int member) { return processes.contains(member); });
      if (alone) std::ofstream(folder + "/freezer.state") << "THAWED";
    }
  }
}

}  // namespace shardscope
