#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "engine/base/process.h"

namespace shardscope {

// The processes of a run on this host: a first one and all that come from it, also those whose parents have ended in
// between (they come to this process, which makes itself their reaper while the tree lives, and are known by a mark in
// their environment). Processes are identified by number and start time, so that nothing else is ever signalled.
class ProcessTree {
 public:
  // `first` is a child of this process, which waits for it itself; `mark`, "NAME=value", is in its environment.
  ProcessTree(const ProcessId& first, std::string mark);
  ~ProcessTree();
  ProcessTree(const ProcessTree&) = delete;
  ProcessTree& operator=(const ProcessTree&) = delete;

  void add(const ProcessId& process);
  // Takes in what has come since. About 10 us for each process of the host.
  void scan();
  std::vector<ProcessInfo> living() const;
  // The value of a variable in the environment of a process ("OMPI_COMM_WORLD_RANK"), empty where not known.
  static std::string environment_of(int pid, const std::string& variable);

  void signal_all(int signal) const;
  // Ends all, whatever they do: stopped ones, too, and frozen ones where nobody else is frozen with them. Gives those
  // that the kernel has not ended after `patience_ns`.
  std::vector<ProcessInfo> end(int64_t patience_ns);

 private:
  void reap() const;

  int first_;
  std::string mark_;
  std::map<int, ProcessId> members_;  // by number
  int was_reaper_ = 0;
};

}  // namespace shardscope
