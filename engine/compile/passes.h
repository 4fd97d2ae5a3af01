#pragma once

#include <chrono>
#include <stop_token>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/base/cancelled.h"
#include "engine/compile/compile.h"

namespace shardscope {

// Runs the passes of a compilation, functions from values to a value: looks for a request to stop before each (throws
// Cancelled), and takes its time.
class Passes {
 public:
  explicit Passes(std::stop_token stop) : stop_(std::move(stop)) {}

  template <class Pass>
  auto operator()(std::string_view name, Pass&& pass) {
    throw_if_stopped(stop_);
    const auto start = std::chrono::steady_clock::now();
    auto result = pass();
    const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - start;
    times_.push_back({name, took.count()});
    return result;
  }

  // Of passes that ran beside these.
  void add(const std::vector<PassTime>& times) { times_.insert(times_.end(), times.begin(), times.end()); }
  const std::vector<PassTime>& times() const { return times_; }

 private:
  std::stop_token stop_;
  std::vector<PassTime> times_;
};

}  // namespace shardscope
