#include "tests/faults/cgroup.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "engine/base/kernel_file.h"

namespace shardscope::faults {

namespace fs = std::filesystem;

namespace {

// Where version 2 is mounted; empty where it is not.
std::string second_version() {
  for (const char* path : {"/sys/fs/cgroup", "/sys/fs/cgroup/unified"}) {
    if (fs::exists(std::string(path) + "/cgroup.controllers")) return path;
  }
  return "";
}

bool has_memory(const std::string& group) {
  return read_kernel_file(group + "/cgroup.subtree_control").find("memory") != std::string::npos;
}

// The folder in which a group of this kind is made; empty where there is none.
std::string parent_of(Cgroup::Kind kind) {
  const std::string second = second_version();
  if (kind == Cgroup::Kind::freezer_2) return second;
  if (kind == Cgroup::Kind::freezer_1) return fs::exists("/sys/fs/cgroup/freezer") ? "/sys/fs/cgroup/freezer" : "";
  if (fs::exists("/sys/fs/cgroup/memory/memory.limit_in_bytes")) return "/sys/fs/cgroup/memory";
  return !second.empty() && has_memory(second) ? second : "";
}

}  // namespace

bool Cgroup::can_make(Kind kind) {
  const std::string parent = parent_of(kind);
  if (parent.empty()) return false;
  const std::string probe = fmt::format("{}/shardscope-probe-{}", parent, ::getpid());
  return ::mkdir(probe.c_str(), 0700) == 0 && ::rmdir(probe.c_str()) == 0;
}

Cgroup::Cgroup(Kind kind) : kind_(kind) {
  static std::atomic<int> count = 0;
  path_ = fmt::format("{}/shardscope-trial-{}-{}", parent_of(kind), ::getpid(), count++);
  ::mkdir(path_.c_str(), 0700);
}

Cgroup::~Cgroup() {
  if (kind_ != Kind::memory) set_frozen(false);
  for (int round = 0; round < 1000 && ::rmdir(path_.c_str()) != 0; ++round) ::usleep(5000);
}

bool Cgroup::write(const std::string& file, const std::string& text) const {
  const int opened = ::open((path_ + "/" + file).c_str(), O_WRONLY | O_CLOEXEC);
  const bool written = opened >= 0 && ::write(opened, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  if (opened >= 0) ::close(opened);
  return written;
}

bool Cgroup::add(int pid) const { return write("cgroup.procs", std::to_string(pid)); }

bool Cgroup::set_frozen(bool frozen) const {
  if (kind_ == Kind::freezer_2) return write("cgroup.freeze", frozen ? "1" : "0");
  return write("freezer.state", frozen ? "FROZEN" : "THAWED");
}

bool Cgroup::limit_memory(int64_t bytes) const {
  const bool first = fs::exists(path_ + "/memory.limit_in_bytes");
  if (!first) write("memory.swap.max", "0");
  return write(first ? "memory.limit_in_bytes" : "memory.max", std::to_string(bytes));
}

}  // namespace shardscope::faults
