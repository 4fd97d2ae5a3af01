#include "engine/compare/run_difference.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "engine/plan/time_causes.h"

namespace shardscope {
namespace {

// The 0.975 quantile of Student's t: M. Abramowitz, I. Stegun, "Handbook of Mathematical Functions", 26.7.5.
// For fewer than 3 degrees of freedom, where that series is not exact, the quantile of 1 or 2.
double student_t(double freedom) {
  if (freedom < 3) return freedom < 2 ? 12.706204736 : 4.302652730;
  constexpr double z = 1.959963984540054;
  const double z3 = z * z * z, z5 = z3 * z * z, z7 = z5 * z * z;
  return z + (z3 + z) / (4 * freedom) + (5 * z5 + 16 * z3 + 3 * z) / (96 * freedom * freedom) +
         (3 * z7 + 19 * z5 + 17 * z3 - 15 * z) / (384 * freedom * freedom * freedom);
}

double mean_of(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

// Of the mean.
double variance_of(const std::vector<double>& values, double mean) {
  double sum = 0;
  for (const double value : values) sum += (value - mean) * (value - mean);
  const auto count = static_cast<double>(values.size());
  return sum / (count - 1) / count;
}

// The last time that each step came; a restart does some anew.
std::map<int64_t, StepMessage> steps_of(const ExportSource& source) {
  std::map<int64_t, StepMessage> steps;
  source.run->replay([&](const Message& message) {
    const StepMessage* step = std::get_if<StepMessage>(&message);
    if (step) steps[step->step] = *step;
  });
  return steps;
}

std::vector<double> warm_times(const std::map<int64_t, StepMessage>& steps) {
  std::vector<double> times;
  for (const auto& [number, step] : steps) times.push_back(step.step_ms);
  if (times.size() > 1) times.erase(times.begin());
  return times;
}

void compare_metrics(const std::map<int64_t, StepMessage>& before, const std::map<int64_t, StepMessage>& after,
                     RunDifference& difference) {
  std::map<std::string, size_t> at;
  for (const auto& [number, step] : before) {
    const auto other = after.find(number);
    if (other == after.end()) continue;
    ++difference.steps;
    for (const MetricValue& metric : step.metrics) {
      const double second = value_of(other->second.metrics, metric.name);
      if (std::isnan(metric.value) || std::isnan(second)) continue;
      const auto [it, is_new] = at.try_emplace(metric.name, difference.metrics.size());
      if (is_new) difference.metrics.push_back({metric.name});
      RunDifference::Metric& line = difference.metrics[it->second];
      line.before = metric.value;
      line.after = second;
      line.largest = std::max(line.largest, std::abs(second - metric.value));
      if (line.first_step < 0 && second != metric.value) line.first_step = number;
    }
  }
}

struct Measured {
  double seconds = 0, waited = 0;
};

// By cause, mean over the ranks; empty where the run has no trace.
std::map<std::string, Measured> measured_causes(const ExportSource& source) {
  const TraceMessage* trace = trace_of(source, std::nullopt);
  std::map<std::string, Measured> causes;
  if (!trace) return causes;
  const Plan& plan = *source.plan;
  const auto ranks = static_cast<double>(trace->ranks.size());
  std::map<int, std::vector<std::string>> names;  // by stage, by position
  for (size_t rank = 0; rank < trace->ranks.size(); ++rank) {
    const int stage = plan.stage_of(static_cast<int>(rank));
    std::vector<std::string>& own = names[stage];
    const std::vector<PlanStepTime>& times = trace->ranks[rank];
    for (int position = static_cast<int>(own.size()); position < std::ssize(times); ++position)
      own.push_back(cause_name(plan, stage, position));
    for (size_t position = 0; position < times.size(); ++position) {
      Measured& of = causes[own[position]];
      of.seconds += double(times[position].end_ns - times[position].arrive_ns) / 1e9 / ranks;
      of.waited += double(times[position].start_ns - times[position].arrive_ns) / 1e9 / ranks;
    }
  }
  return causes;
}

}  // namespace

MeanInterval mean_interval(const std::vector<double>& values) {
  if (values.empty()) return {};
  MeanInterval interval{static_cast<int64_t>(values.size()), mean_of(values), {}};
  if (values.size() > 1)
    interval.half_width = student_t(double(values.size() - 1)) * std::sqrt(variance_of(values, interval.mean));
  return interval;
}

MeanInterval difference_interval(const std::vector<double>& first, const std::vector<double>& second) {
  if (first.empty() || second.empty()) return {};
  const double before = mean_of(first), after = mean_of(second);
  MeanInterval interval{static_cast<int64_t>(std::min(first.size(), second.size())), after - before, {}};
  if (interval.count < 2) return interval;
  const double one = variance_of(first, before), other = variance_of(second, after), sum = one + other;
  if (sum == 0) {
    interval.half_width = 0;
    return interval;
  }
  const double freedom = sum * sum / (one * one / double(first.size() - 1) + other * other / double(second.size() - 1));
  interval.half_width = student_t(freedom) * std::sqrt(sum);
  return interval;
}

MeanInterval step_interval(const ExportSource& source) { return mean_interval(warm_times(steps_of(source))); }

RunDifference difference_of(const ExportSource& before, const ExportSource& after) {
  RunDifference difference;
  const std::map<int64_t, StepMessage> first = steps_of(before), second = steps_of(after);
  compare_metrics(first, second, difference);
  difference.difference_ms = difference_interval(warm_times(first), warm_times(second));
  const std::map<std::string, Measured> one = measured_causes(before), other = measured_causes(after);
  if (one.empty() || other.empty()) return difference;
  std::map<std::string, RunDifference::Time> times;
  for (const auto& [cause, measured] : one) times[cause] = {cause, measured.seconds, 0, measured.waited, 0};
  for (const auto& [cause, measured] : other) {
    RunDifference::Time& time = times[cause];
    time.cause = cause;
    time.after = measured.seconds;
    time.waited_after = measured.waited;
  }
  for (auto& [cause, time] : times) difference.times.push_back(std::move(time));
  std::ranges::stable_sort(difference.times, {},
                           [](const RunDifference::Time& time) { return -std::abs(time.after - time.before); });
  return difference;
}

}  // namespace shardscope
