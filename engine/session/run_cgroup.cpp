#include "engine/session/run_cgroup.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <filesystem>

#include "engine/base/control_group.h"
#include "engine/base/process.h"

namespace shardscope {

namespace {

constexpr const char* group_prefix = "shardscope-run-";
constexpr int cgroup_patience_ms = 500;

void kill_all(const std::string& folder) {
  const int file = ::open((folder + "/cgroup.kill").c_str(), O_WRONLY | O_CLOEXEC);
  if (file < 0) return;
  [[maybe_unused]] const ssize_t written = ::write(file, "1", 1);
  ::close(file);
}

// Processes that have ended keep their group until the kernel has buried them.
void remove_group(const std::string& folder) {
  for (int waited_ms = 0; ::rmdir(folder.c_str()) != 0 && errno == EBUSY && waited_ms < cgroup_patience_ms;
       ++waited_ms) {
    ::poll(nullptr, 0, 1);
  }
}

// Says that a group of this name was made here; a name alone may be anybody's.
constexpr const char* marker = "user.shardscope.run";

bool is_marked(const std::string& folder, const std::string& name) {
  std::string said(256, '\0');
  const ssize_t size = ::lgetxattr(folder.c_str(), marker, said.data(), said.size());
  return size >= 0 && said.substr(0, static_cast<size_t>(size)) == name;
}

void mark(const std::string& folder, const std::string& name) {
  ::lsetxattr(folder.c_str(), marker, name.data(), name.size(), 0);
}

// Named after its owner: prefix, number, start time, count.
void remove_abandoned_groups(const std::string& parent) {
  std::error_code error;
  for (std::filesystem::directory_iterator at(parent, error), end; !error && at != end; at.increment(error)) {
    const std::string folder = at->path(), name = at->path().filename();
    int pid = 0;
    unsigned long long start_time = 0;
    const bool is_ours = name.starts_with(group_prefix) && std::sscanf(name.c_str() + std::string(group_prefix).size(),
                                                                       "%9d-%19llu", &pid, &start_time) == 2;
    if (!is_ours || !is_marked(folder, name) || is_alive({pid, start_time})) continue;
    kill_all(folder);
    remove_group(folder);
  }
}

}  // namespace

RunCgroup::RunCgroup() {
  const ControlGroup own = unified_control_group("self");
  if (own.folders.empty()) return;
  remove_abandoned_groups(own.folders[0]);
  static std::atomic<int> count = 0;
  const ProcessId self = this_process();
  const std::string name = fmt::format("{}{}-{}-{}", group_prefix, self.pid, self.start_time, count.fetch_add(1));
  const std::string folder = own.folders[0] + "/" + name;
  if (::mkdir(folder.c_str(), 0755) != 0) return;
  mark(folder, name);
  const bool usable = ::access((folder + "/cgroup.kill").c_str(), W_OK) == 0 &&
                      ::access((folder + "/cgroup.procs").c_str(), W_OK) == 0 &&
                      ::access((own.folders[0] + "/cgroup.procs").c_str(), W_OK) == 0;
  if (usable) folder_ = folder;
  else ::rmdir(folder.c_str());
}

RunCgroup::~RunCgroup() {
  if (!folder_.empty()) remove_group(folder_);
}

void RunCgroup::kill() const {
  if (!folder_.empty()) kill_all(folder_);
}

}  // namespace shardscope
