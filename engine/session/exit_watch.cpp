#include "engine/session/exit_watch.h"

#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <utility>

#include "engine/base/process.h"

namespace shardscope {

namespace {

// PIDFD_GET_INFO of linux/pidfd.h, which the headers of older systems lack.
struct PidfdInfo {
  uint64_t mask = 0, cgroup = 0;
  std::array<uint32_t, 11> ids{};
  int32_t exit_code = 0;
};
constexpr unsigned long get_info = _IOWR(0xFF, 11, PidfdInfo);
constexpr uint64_t exit_mask = 1 << 3;

}  // namespace

ExitWatch::ExitWatch(int32_t pid) : pid_(pid), descriptor_(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0))) {}

ExitWatch::~ExitWatch() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

ExitWatch::ExitWatch(ExitWatch&& other) noexcept
    : pid_(other.pid_), descriptor_(std::exchange(other.descriptor_, -1)) {}

ExitWatch& ExitWatch::operator=(ExitWatch&& other) noexcept {
  std::swap(pid_, other.pid_);
  std::swap(descriptor_, other.descriptor_);
  return *this;
}

std::optional<int32_t> ExitWatch::status() const {
  if (descriptor_ < 0) return std::nullopt;
  PidfdInfo info;
  info.mask = exit_mask;
  if (::ioctl(descriptor_, get_info, &info) == 0 && (info.mask & exit_mask) != 0) return info.exit_code;
  if (::syscall(SYS_pidfd_send_signal, descriptor_, 0, nullptr, 0) != 0) return std::nullopt;  // its number is free
  const ProcessObservation observation = look_at_process(pid_);
  if (observation.presence != ProcessObservation::Presence::there || observation.info.state != 'Z') return std::nullopt;
  return observation.info.exit_status;
}

}  // namespace shardscope
