#include "tests/faults/start.h"

#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

namespace shardscope::faults {

std::vector<std::string> Start::run_file_arguments() const {
  std::vector<std::string> list = {SHARDSCOPE_SOURCE_DIR "/presets/" + preset + ".json"};
  const auto set = [&](const std::string& assignment) { list.insert(list.end(), {"--set", assignment}); };
  set("mesh.data=2");
  set("mesh.model=" + std::to_string(ranks / 2));
  for (const std::string& assignment : settings) set(assignment);
  return list;
}

std::vector<std::string> Start::command() const {
  std::vector<std::string> list = before;
  list.insert(list.end(), {program, "train"});
  for (const std::string& argument : run_file_arguments()) list.push_back(argument);
  list.insert(list.end(), {"--steps", std::to_string(steps)});
  list.insert(list.end(), arguments.begin(), arguments.end());
  return list;
}

std::vector<std::string> Start::temporaries() const {
  return host_folders.empty() ? std::vector<std::string>{folder + "/tmp"} : host_folders;
}

std::string Start::temporary_of_rank(int rank) const {
  const std::vector<std::string> all = temporaries();
  return all[static_cast<size_t>(rank) * all.size() / static_cast<size_t>(ranks)];
}

bool can_mount() {
  static const bool can = [] {
    const pid_t child = ::fork();
    if (child == 0) ::_exit(::unshare(CLONE_NEWNS) == 0 ? 0 : 1);
    int status = 1;
    return child > 0 && ::waitpid(child, &status, 0) == child && status == 0;
  }();
  return can;
}

}  // namespace shardscope::faults
