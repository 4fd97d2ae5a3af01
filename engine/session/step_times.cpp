#include "engine/session/step_times.h"

#include <algorithm>
#include <cmath>

namespace shardscope {

namespace {

constexpr double least_ms = 1e-6, most_ms = 1e12;

int bin_of(double ms) { return static_cast<int>(std::floor(std::log(ms) / std::log(1.01))); }

}  // namespace

StepTimes::StepTimes(std::optional<double> first, std::map<int, Bin> bins) : first_(first), bins_(std::move(bins)) {
  for (const auto& [index, bin] : bins_) count_ += bin.count;
}

void StepTimes::add(double ms) {
  ms = ms >= least_ms ? std::min(ms, most_ms) : 0;
  if (!first_) {
    first_ = ms;
    return;
  }
  Bin& bin = bins_[bin_of(std::max(ms, least_ms))];
  ++bin.count;
  bin.sum_ms += ms;
  ++count_;
}

std::optional<double> StepTimes::median() const {
  int64_t left = count_ / 2;
  for (const auto& [index, bin] : bins_) {
    if (left < bin.count) return bin.sum_ms / static_cast<double>(bin.count);
    left -= bin.count;
  }
  return first_;
}

}  // namespace shardscope
