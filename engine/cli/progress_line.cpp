#include "engine/cli/progress_line.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <utility>

#include "engine/base/standard_streams.h"

namespace shardscope {

namespace {

constexpr std::chrono::milliseconds first_after{200}, then_every{100};
constexpr const char* clear = "\r\033[K";

}  // namespace

ProgressLine::ProgressLine(std::string what) : what_(std::move(what)) {
  if (!is_quiet() && ::isatty(STDERR_FILENO) == 1)
    keeper_ = std::jthread([this](const std::stop_token& stop) { keep(stop); });
}

ProgressLine::~ProgressLine() {
  if (!keeper_.joinable()) return;
  keeper_.request_stop();
  keeper_.join();
}

void ProgressLine::begin(std::string what) {
  const std::lock_guard lock(mutex_);
  what_ = std::move(what);
  share_ = -1;
}

void ProgressLine::show(double share) {
  const std::lock_guard lock(mutex_);
  share_ = share;
}

double ProgressLine::seconds() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begun_).count();
}

void ProgressLine::keep(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  ended_.wait_for(lock, stop, first_after, [] { return false; });
  if (stop.stop_requested()) return;
  while (!stop.stop_requested()) {
    std::fputs(fmt::format("{}{}{}", clear, what_, share_ < 0 ? "" : fmt::format(" {:.0f} %", 100 * share_)).c_str(),
               stderr);
    std::fflush(stderr);
    ended_.wait_for(lock, stop, then_every, [] { return false; });
  }
  std::fputs(clear, stderr);
  std::fflush(stderr);
}

}  // namespace shardscope
