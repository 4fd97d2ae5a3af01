#include "engine/session/process_tree.h"

#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <set>
#include <utility>

#include "engine/base/control_group.h"
#include "engine/base/kernel_file.h"
#include "engine/session/processes.h"
#include "engine/session/telemetry.h"

namespace shardscope {

namespace {

constexpr int64_t before_resuming_ns = 200'000'000;

std::string read_environment(int pid) {
  return '\0' + read_kernel_file("/proc/" + std::to_string(pid) + "/environ") + '\0';
}

std::set<int> numbers(const std::vector<ProcessInfo>& processes) {
  std::set<int> found;
  for (const ProcessInfo& one : processes) found.insert(one.id.pid);
  return found;
}

}  // namespace

ProcessTree::ProcessTree(const ProcessId& first, std::string mark) : first_(first.pid), mark_(std::move(mark)) {
  add(first);
  ::prctl(PR_GET_CHILD_SUBREAPER, &was_reaper_);
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
}

ProcessTree::~ProcessTree() {
  reap();
  ::prctl(PR_SET_CHILD_SUBREAPER, was_reaper_);
}

void ProcessTree::add(const ProcessId& process) {
  if (process.pid > 0 && process.start_time != 0) members_[process.pid] = process;
}

void ProcessTree::scan() {
  const std::vector<ProcessInfo> all = all_processes();
  std::map<int, ProcessId> living;
  for (const ProcessInfo& one : all) {
    const auto known = members_.find(one.id.pid);
    if (known != members_.end() && known->second == one.id) living.emplace(one.id.pid, one.id);
  }
  const int self = ::getpid();
  for (const ProcessInfo& one : all) {
    const bool is_orphan = (one.parent == self || one.parent == 1) && !living.contains(one.id.pid);
    if (is_orphan && read_environment(one.id.pid).find('\0' + mark_ + '\0') != std::string::npos)
      living.emplace(one.id.pid, one.id);
  }
  for (bool grown = true; grown;) {
    grown = false;
    for (const ProcessInfo& one : all) {
      if (living.contains(one.parent)) grown |= living.emplace(one.id.pid, one.id).second;
    }
  }
  // What cannot be seen just now (no descriptor is free) stays known.
  for (const auto& [pid, id] : members_) {
    if (is_alive(id)) living.emplace(pid, id);
  }
  members_ = std::move(living);
}

std::vector<ProcessInfo> ProcessTree::living() const {
  std::vector<ProcessInfo> found;
  for (const auto& [pid, id] : members_) {
    const ProcessObservation observation = look_at_process(pid);
    if (observation.presence == ProcessObservation::Presence::there && observation.info.id == id && is_alive(id))
      found.push_back(observation.info);
  }
  return found;
}

std::string ProcessTree::environment_of(int pid, const std::string& variable) {
  const std::string environment = read_environment(pid);
  const std::string key = '\0' + variable + '=';
  const size_t at = environment.find(key);
  return at == std::string::npos ? "" : std::string(environment.c_str() + at + key.size());
}

void ProcessTree::signal_all(int signal) const {
  for (const ProcessInfo& one : living()) ::kill(one.id.pid, signal);
}

std::vector<ProcessInfo> ProcessTree::end(int64_t patience_ns) {
  const int64_t start = monotonic_ns();
  bool thawed = false;
  for (;;) {
    scan();
    signal_all(SIGKILL);
    reap();
    std::vector<ProcessInfo> left = living();
    const int64_t waited = monotonic_ns() - start;
    if (left.empty() || waited > patience_ns) return left;
    if (waited > before_resuming_ns && !std::exchange(thawed, true)) resume_alone(numbers(left));
    ::poll(nullptr, 0, waited < before_resuming_ns ? 2 : 20);
  }
}

// Those that have become children of this process by the death of their parents.
void ProcessTree::reap() const {
  for (const auto& [pid, id] : members_) {
    if (pid == first_) continue;
    const ProcessObservation observation = look_at_process(pid);
    const bool is_own = observation.presence == ProcessObservation::Presence::there && observation.info.id == id &&
                        observation.info.parent == ::getpid() && observation.info.state == 'Z';
    if (is_own) ::waitpid(pid, nullptr, WNOHANG);
  }
}

}  // namespace shardscope
