#pragma once

#include <cstdint>
#include <map>
#include <optional>

namespace shardscope {

// The times of a run's steps, however many, in a few kilobytes: counted in bins that are 1 % wide.
class StepTimes {
 public:
  struct Bin {
    int64_t count = 0;
    double sum_ms = 0;
    bool operator==(const Bin&) const = default;
  };

  StepTimes() = default;
  StepTimes(std::optional<double> first, std::map<int, Bin> bins);

  // In the order of steps: the first, which warms up, counts only while it is alone. What is no positive number is 0.
  void add(double ms);
  // Within 1 %; exact where the steps of its bin were alike. Nothing before the first step.
  std::optional<double> median() const;

  const std::optional<double>& first() const { return first_; }
  const std::map<int, Bin>& bins() const { return bins_; }
  bool operator==(const StepTimes&) const = default;

 private:
  std::optional<double> first_;
  std::map<int, Bin> bins_;  // by the logarithm of the time
  int64_t count_ = 0;        // in bins
};

}  // namespace shardscope
