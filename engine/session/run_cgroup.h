#pragma once

#include <string>

namespace shardscope {

// A control group (version 2) for the processes of one run, below that of this process, where the system lets us make
// one: the surest way to end them all at once. Empty where it does not. Groups that killed launchers have left are
// ended and removed by the next: those that are marked, by an extended attribute that says their name, as made here.
class RunCgroup {
 public:
  RunCgroup();
  ~RunCgroup();  // all processes in it must have ended, or it stays
  RunCgroup(const RunCgroup&) = delete;
  RunCgroup& operator=(const RunCgroup&) = delete;

  // A process that writes "0" to this file is in the group, as all that it starts; empty where there is no group.
  std::string entrance() const { return folder_.empty() ? "" : folder_ + "/cgroup.procs"; }
  // Kills all that are in it, frozen and stopped ones too.
  void kill() const;

 private:
  std::string folder_;
};

}  // namespace shardscope
