#include "viz/paint/timeline_geometry.h"

#include <algorithm>

namespace shardscope {

void TimelineLane::add(double start, double end, int step) {
  slices.push_back({start, end, step});
  seconds += end - start;
}

PredictedTimeline predict(const Plan& plan, int stage) {
  PredictedTimeline timeline;
  const auto& stages = plan.pipeline.timeline.stages;
  const std::vector<StageTimeline::Span>* spans = plan.program.stages > 1 ? &stages.at(stage) : nullptr;
  int position = 0;
  for (const Step& step : plan.steps(stage)) {
    const double start = spans ? (*spans)[position].start : timeline.seconds;
    const double end = spans ? (*spans)[position].end : start + plan.seconds(position, stage);
    TimelineLane& lane = is_communication(step.kind) ? timeline.collectives : timeline.compute;
    lane.add(start, end, position++);
    std::vector<PhaseSpan>& phases = timeline.phases;
    if (phases.empty() || phases.back().phase != step.phase || start > phases.back().end)
      phases.push_back({step.phase, start, end});
    phases.back().end = timeline.seconds = end;
  }
  return timeline;
}

std::optional<MeasuredTimeline> measured_timeline(const Plan& plan, std::span<const PlanStepTime> times, int stage) {
  if (times.empty() || static_cast<int>(times.size()) != plan.steps(stage).size()) return std::nullopt;
  const auto seconds = [&](int64_t ns) { return static_cast<double>(ns - times.front().arrive_ns) * 1e-9; };
  MeasuredTimeline timeline;
  int position = 0;
  for (const Step& step : plan.steps(stage)) {
    const auto& [arrive, start, end] = times[position];
    if (start > arrive) timeline.waiting.add(seconds(arrive), seconds(start), position);
    (is_communication(step.kind) ? timeline.collectives : timeline.compute).add(seconds(start), seconds(end), position);
    ++position;
  }
  timeline.seconds = seconds(times.back().end_ns);
  return timeline;
}

std::vector<TimelineBar> visible_bars(std::span<const TimelineSlice> slices, double begin, double end, double pixels,
                                      double least) {
  std::vector<TimelineBar> bars;
  if (!(end > begin) || pixels <= 0) return bars;
  const double scale = pixels / (end - begin);
  auto slice = std::ranges::lower_bound(slices, begin, {}, &TimelineSlice::end);
  while (slice != slices.end() && slice->start < end) {
    TimelineBar bar;
    bar.first = bar.last = static_cast<int>(slice - slices.begin());
    double stop = slice->end;
    if ((slice->end - slice->start) * scale < least) {
      const double reach = slice->start + least / scale;
      auto next = std::ranges::lower_bound(slice, slices.end(), reach, {}, &TimelineSlice::end);
      if (next != slice) {
        bar.last = static_cast<int>(next - slices.begin()) - 1;
        stop = slices[bar.last].end;
      }
    }
    bar.x = (std::max(slice->start, begin) - begin) * scale;
    bar.width = (std::min(stop, end) - begin) * scale - bar.x;
    bars.push_back(bar);
    slice = slices.begin() + bar.last + 1;
  }
  return bars;
}

}  // namespace shardscope
