#include "engine/session/step_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <cstring>

#include "engine/base/error.h"

namespace shardscope {

namespace {

[[noreturn]] void fail_steps(const std::string& where, const std::string& action) {
  throw Failure(
      Error{"session_file", "cannot " + action + " the run's history: " + std::strerror(errno), in_file(where), ""});
}

int nameless_file(const std::string& directory) {
  std::string path = directory + "/history_XXXXXX";
  const int file = ::mkostemp(path.data(), O_CLOEXEC);
  if (file < 0) fail_steps(directory, "make a file for");
  ::unlink(path.c_str());
  return file;
}

}  // namespace

StepFile::StepFile(const std::string& directory, int ranks, std::vector<std::string> metrics)
    : directory_(directory), ranks_(static_cast<size_t>(ranks)), metrics_(std::move(metrics)) {
  values_ = nameless_file(directory);
  try {
    details_ = nameless_file(directory);
  } catch (...) {
    ::close(values_);
    throw;
  }
}

StepFile::~StepFile() {
  ::close(values_);
  ::close(details_);
}

void StepFile::write(int file, const void* data, size_t bytes, int64_t at) {
  for (size_t done = 0; done < bytes;) {
    const ssize_t put =
        ::pwrite(file, static_cast<const char*>(data) + done, bytes - done, at + static_cast<off_t>(done));
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) fail_steps(directory_, "write");
    done += static_cast<size_t>(put);
  }
}

void StepFile::read(int file, void* data, size_t bytes, int64_t at) const {
  for (size_t done = 0; done < bytes;) {
    const ssize_t got = ::pread(file, static_cast<char*>(data) + done, bytes - done, at + static_cast<off_t>(done));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) fail_steps(directory_, "read");
    done += static_cast<size_t>(got);
  }
}

void StepFile::add(const StepMessage& step) {
  const bool follows = begin_ < end_ && step.step >= begin_ && step.step <= end_;
  if (!follows) begin_ = step.step;
  std::vector<double> values(1 + metrics_.size(), std::nan(""));
  values[0] = step.step_ms;
  for (size_t i = 0; i < std::min(metrics_.size(), step.metrics.size()); ++i) values[1 + i] = step.metrics[i].value;
  const auto bytes = static_cast<int64_t>(values.size() * sizeof(double));
  write(values_, values.data(), static_cast<size_t>(bytes), step.step * bytes);

  std::vector<RankMeasurement> ranks = step.ranks;
  ranks.resize(ranks_);
  const auto detail_bytes = static_cast<int64_t>(ranks_ * sizeof(RankMeasurement));
  write(details_, ranks.data(), static_cast<size_t>(detail_bytes), step.step % detailed_steps * detail_bytes);
  end_ = step.step + 1;
}

std::vector<StepMessage> StepFile::read(int64_t from, int64_t to, size_t most) const {
  from = std::max(from, begin_);
  to = std::min(to, end_);
  std::vector<StepMessage> steps;
  if (from >= to) return steps;
  to = std::min(to, from + static_cast<int64_t>(most));
  const size_t width = 1 + metrics_.size();
  std::vector<double> values(width * static_cast<size_t>(to - from));
  const auto bytes = static_cast<int64_t>(width * sizeof(double));
  read(values_, values.data(), values.size() * sizeof(double), from * bytes);
  for (int64_t number = from; number < to; ++number) {
    const double* own = values.data() + static_cast<size_t>(number - from) * width;
    StepMessage step{number, {}, own[0], {}};
    for (size_t i = 0; i < metrics_.size(); ++i) step.metrics.push_back({metrics_[i], own[1 + i]});
    if (number >= end_ - detailed_steps) {
      step.ranks.resize(ranks_);
      const size_t detail_bytes = ranks_ * sizeof(RankMeasurement);
      read(details_, step.ranks.data(), detail_bytes, number % detailed_steps * static_cast<int64_t>(detail_bytes));
    }
    steps.push_back(std::move(step));
  }
  return steps;
}

}  // namespace shardscope
