#include "engine/cli/cancel_on_signal.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>

#include "engine/base/error.h"

namespace shardscope {

namespace {

std::atomic<int> cancelling_signal = 0;
std::atomic<int> wake_descriptor = -1;

void wake() {
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = ::write(wake_descriptor.load(), &one, sizeof one);
}

void cancel(int signal) {
  const int saved = errno;
  cancelling_signal = signal;
  wake();
  errno = saved;
}

}  // namespace

CancelOnSignal::CancelOnSignal() : wake_(::eventfd(0, EFD_CLOEXEC)) {
  if (wake_ < 0) throw Failure(Error{"too_many_files", "cannot make an event descriptor", "", ""});
  cancelling_signal = 0;
  wake_descriptor = wake_;
  waiter_ = std::jthread([stop = stop_, wake = wake_]() mutable {
    uint64_t count = 0;
    while (::read(wake, &count, sizeof count) < 0 && errno == EINTR) continue;
    if (cancelling_signal != 0) stop.request_stop();
  });
  for (size_t i = 0; i < signals.size(); ++i) {
    ::sigaction(signals[i], nullptr, &before_[i]);
    struct sigaction action {};
    action.sa_handler = cancel;
    action.sa_flags = static_cast<int>(SA_RESETHAND);
    if (before_[i].sa_handler != SIG_IGN) ::sigaction(signals[i], &action, nullptr);
  }
}

CancelOnSignal::~CancelOnSignal() {
  for (size_t i = 0; i < signals.size(); ++i) ::sigaction(signals[i], &before_[i], nullptr);
  wake();
  waiter_.join();
  ::close(wake_);
}

int CancelOnSignal::first() const { return cancelling_signal; }

}  // namespace shardscope
