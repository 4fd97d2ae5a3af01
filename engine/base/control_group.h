#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

// Linux control groups, of both versions: what limits, kills or freezes processes from outside. Nothing here throws;
// what cannot be read is not known.
namespace shardscope {

// The folder of the group that a process ("self", or its number) is in for one controller ("memory"), then those above
// it, as far as they can be seen from here. Empty where not known.
struct ControlGroup {
  std::vector<std::string> folders;
  bool unified = false;  // version 2
};
ControlGroup control_group(const std::string& process, const std::string& controller);
// Of version 2, whichever controllers it has.
ControlGroup unified_control_group(const std::string& process);

// The least of the limits on the memory of this process's group and of those above; nothing without a limit.
std::optional<int64_t> memory_limit_bytes();

// The memory that the ranks of this host can have together: the machine's, or that limit where it is less. 0: unknown.
int64_t usable_memory_bytes();

// How many processes of the memory group that a process is in, and of those below it, the kernel kills for lack of
// memory (theirs or the machine's), from now on; of the whole machine where that group has no count of its own, as the
// root of version 2.
class OutOfMemoryKills {
 public:
  explicit OutOfMemoryKills(int pid);
  int64_t since() const;

 private:
  using Kills = std::map<std::string, int64_t>;  // by group: version 1 counts each alone
  Kills kills() const;
  std::string folder_;  // empty: of the whole machine
  bool unified_ = false;
  Kills before_;
};

// Those of the last 5 to 10 seconds: what the kernel killed long before a process ended was not that process.
class RecentOutOfMemoryKills {
 public:
  static constexpr int64_t interval_ns = 5'000'000'000;

  RecentOutOfMemoryKills(int pid, int64_t now_ns) : pid_(pid), before_(pid), newest_(pid), begun_ns_(now_ns) {}
  // While the process lives.
  void resume(int64_t now_ns) {
    if (now_ns - begun_ns_ < interval_ns) return;
    before_ = std::exchange(newest_, OutOfMemoryKills(pid_));
    begun_ns_ = now_ns;
  }
  int64_t count() const { return before_.since(); }

 private:
  int pid_;
  OutOfMemoryKills before_, newest_;
  int64_t begun_ns_;
};

// True when the group of a process, or one above it, is frozen or on its way there.
bool is_frozen(int pid);

// Thaws the groups of version 1 in which some of `processes`, and nobody else, are frozen: unlike those of version 2
// they cannot be killed otherwise.
void resume_alone(const std::set<int>& processes);

}  // namespace shardscope
