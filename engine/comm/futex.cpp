#include "engine/comm/futex.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <cerrno>
#include <climits>
#include <ctime>

namespace shardscope {

static_assert(sizeof(std::atomic<uint32_t>) == sizeof(uint32_t));

bool futex_wait(std::atomic<uint32_t>& word, uint32_t value, std::chrono::milliseconds timeout) noexcept {
  timespec time{timeout.count() / 1000, timeout.count() % 1000 * 1'000'000};
  long result = syscall(SYS_futex, &word, FUTEX_WAIT, value, &time, nullptr, 0);
  return !(result == -1 && errno == ETIMEDOUT);
}

void futex_wake_all(std::atomic<uint32_t>& word) noexcept {
  syscall(SYS_futex, &word, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

}  // namespace shardscope
