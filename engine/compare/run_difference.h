#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/export/export_source.h"

namespace shardscope {

// A mean of measured values, with the half width of its confidence interval of 95 % (Student's t; values count as
// independent).
struct MeanInterval {
  int64_t count = 0;
  double mean = 0;
  std::optional<double> half_width;  // none of fewer than two values, which say nothing of how far they scatter
};
MeanInterval mean_interval(const std::vector<double>& values);
// second - first, by Welch's t; the interval needs two values of each.
MeanInterval difference_interval(const std::vector<double>& first, const std::vector<double>& second);

// Of a recorded run's steps, in ms, without the first, which warms up. A step that a restart did anew counts once, as
// it came last.
MeanInterval step_interval(const ExportSource& source);

// What two recorded runs measured.
struct RunDifference {
  struct Metric {
    std::string name;
    double before = 0, after = 0;  // of the last step that both have
    double largest = 0;            // difference of a step
    int64_t first_step = -1;       // that differs at all; -1: none
  };
  struct Time {
    std::string cause;             // cause_name()
    double before = 0, after = 0;  // seconds of a step, waiting included, mean over ranks; of the median step
    double waited_before = 0, waited_after = 0;
  };

  int64_t steps = 0;            // that both have
  std::vector<Metric> metrics;  // in the order of the first run's
  MeanInterval difference_ms;   // of the times that step_interval() gives
  std::vector<Time> times;      // those that changed most first; empty where a run has no trace
};
RunDifference difference_of(const ExportSource& before, const ExportSource& after);

}  // namespace shardscope
