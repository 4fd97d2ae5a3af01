#include "engine/comm/process_identity.h"

#include <unistd.h>
#include <cerrno>
#include <csignal>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>

namespace shardscope {

namespace {

struct ProcessStatus {
  char state = '?';
  uint64_t start_time = 0;
};

// From /proc/PID/stat: after the name in parentheses come the state (field 3) and, 19 fields on, the start time.
std::optional<ProcessStatus> read_status(int32_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string text;
  if (!std::getline(file, text)) return std::nullopt;
  size_t name_end = text.rfind(')');
  if (name_end == std::string::npos) return std::nullopt;
  std::istringstream fields(text.substr(name_end + 1));
  ProcessStatus status;
  fields >> status.state;
  std::string skipped;
  for (int field = 4; field < 22; ++field) fields >> skipped;
  fields >> status.start_time;
  return status;
}

}  // namespace

ProcessIdentity this_process() {
  auto pid = static_cast<int32_t>(getpid());
  std::optional<ProcessStatus> status = read_status(pid);
  return {pid, status ? status->start_time : 0};
}

bool is_alive(const ProcessIdentity& process) {
  if (process.pid == 0) return true;
  if (kill(process.pid, 0) != 0 && errno == ESRCH) return false;
  std::optional<ProcessStatus> status = read_status(process.pid);
  if (!status) return kill(process.pid, 0) == 0 || errno != ESRCH;
  if (status->state == 'Z' || status->state == 'X') return false;
  return process.start_time == 0 || status->start_time == process.start_time;
}

}  // namespace shardscope
