#include "engine/cli/bounded_output.h"

#include <fmt/format.h>
#include <poll.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <condition_variable>
#include <csignal>
#include <cstring>
#include <mutex>
#include <utility>

#include "engine/base/plural.h"

namespace shardscope {
namespace {

using Clock = std::chrono::steady_clock;
constexpr int look_ms = 50;  // how often a thread whose reader takes nothing looks whether it shall end

int64_t lines_of(std::string_view text) { return std::count(text.begin(), text.end(), '\n'); }

// What poll() says can be written without waiting: of a pipe at least this much.
size_t bytes_at_once(int descriptor) {
  struct stat status {};
  const bool regular = ::fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode);
  return regular ? size_t{1} << 16 : PIPE_BUF;
}

// Signals are for the other threads.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_;
};

}  // namespace

struct BoundedOutput::Shared {
  int descriptor;
  size_t capacity;

  std::mutex mutex;
  std::condition_variable changed;
  std::string waiting;   // behind `writing`
  size_t unwritten = 0;  // bytes of both
  Clock::time_point taken = Clock::now();
  OutputLoss loss;
  bool ending = false, ended = false;

  void lose(std::string_view text) {
    loss.lines += lines_of(text);
    loss.bytes += static_cast<int64_t>(text.size());
  }
};

BoundedOutput::BoundedOutput(int descriptor, size_t capacity) : shared_(std::make_shared<Shared>()) {
  shared_->descriptor = descriptor;
  shared_->capacity = capacity;
  const SignalsBlocked blocked;
  thread_ = std::thread(write_on, shared_);
}

BoundedOutput::~BoundedOutput() { finish(std::chrono::milliseconds(0)); }

void BoundedOutput::put(std::string_view text) {
  if (text.empty()) return;
  const std::lock_guard lock(shared_->mutex);
  if (shared_->loss.error != 0 || shared_->ending || shared_->unwritten + text.size() > shared_->capacity) {
    shared_->lose(text);
    return;
  }
  if (shared_->unwritten == 0) shared_->taken = Clock::now();
  shared_->waiting += text;
  shared_->unwritten += text.size();
  shared_->changed.notify_all();
}

int BoundedOutput::error() const { return loss().error; }

OutputLoss BoundedOutput::loss() const {
  const std::lock_guard lock(shared_->mutex);
  return shared_->loss;
}

OutputLoss BoundedOutput::finish(std::chrono::milliseconds patience) {
  if (!thread_.joinable()) return loss();
  std::unique_lock lock(shared_->mutex);
  while (shared_->unwritten > 0 && Clock::now() < shared_->taken + patience) {
    shared_->changed.wait_until(lock, shared_->taken + patience);
  }
  shared_->ending = true;
  shared_->changed.notify_all();
  // A write() that waits all the same, say at a terminal stopped a moment ago, is left to the end of the process.
  const bool ended =
      shared_->changed.wait_for(lock, std::chrono::milliseconds(10 * look_ms), [this] { return shared_->ended; });
  const OutputLoss loss = shared_->loss;
  lock.unlock();
  if (ended) thread_.join();
  else thread_.detach();
  return loss;
}

void BoundedOutput::write_on(const std::shared_ptr<Shared>& shared) {
  const size_t at_once = bytes_at_once(shared->descriptor);
  std::string writing;
  size_t written = 0;  // of `writing`
  std::unique_lock lock(shared->mutex);
  while (true) {
    if (written == writing.size()) {
      writing.clear();
      written = 0;
      shared->changed.wait(lock, [&] { return shared->ending || !shared->waiting.empty(); });
      std::swap(writing, shared->waiting);
      if (writing.empty()) break;
    }
    const bool last_try = shared->ending;
    lock.unlock();
    pollfd ready{shared->descriptor, POLLOUT, 0};
    const int polled = ::poll(&ready, 1, last_try ? 0 : look_ms);
    ssize_t count = 0;
    int error = 0;
    if (polled > 0) {
      count = ::write(shared->descriptor, writing.data() + written, std::min(at_once, writing.size() - written));
      if (count < 0 && errno != EAGAIN && errno != EINTR) error = errno;
    }
    lock.lock();
    if (count > 0) {
      written += static_cast<size_t>(count);
      shared->unwritten -= static_cast<size_t>(count);
      shared->taken = Clock::now();
      shared->changed.notify_all();
    } else if (error != 0 || last_try) {
      shared->loss.error = error;
      shared->lose(std::string_view(writing).substr(written));
      shared->lose(shared->waiting);
      writing.clear();
      written = 0;
      shared->waiting.clear();
      shared->unwritten = 0;
      shared->changed.notify_all();
    }
  }
  shared->ended = true;
  shared->changed.notify_all();
}

std::string loss_text(const std::string& name, const OutputLoss& loss) {
  return fmt::format("{}: {} ({}) {} not written: {}", name, counted(loss.lines, "line"), counted(loss.bytes, "byte"),
                     plural(loss.lines, "was", "were"),
                     loss.error == 0 ? "its reader was too slow" : std::strerror(loss.error));
}

}  // namespace shardscope
