#include "viz/paint/timeline_ranks.h"

#include <algorithm>
#include <optional>
#include <set>

#include "viz/paint/pipeline_geometry.h"

namespace shardscope {
namespace {

using RankTimes = std::span<const std::vector<PlanStepTime>>;

bool is_of(const Plan& plan, RankTimes times) {
  if (times.empty() || std::ssize(times) > plan.mesh.device_count()) return false;
  for (int rank = 0; rank < std::ssize(times); ++rank)
    if (std::ssize(times[size_t(rank)]) != plan.instructions(plan.stage_of(rank)).size()) return false;
  return !times.front().empty();
}

// The groups of ranks over some axes, those without whose times are known or on several hosts left out.
std::vector<std::vector<int>> groups_over(const Plan& plan, const AxisList& axes, int ranks) {
  std::vector<std::vector<int>> groups;
  std::vector<bool> is_placed(size_t(plan.mesh.device_count()), false);
  for (int rank = 0; rank < ranks; ++rank) {
    if (is_placed[size_t(rank)]) continue;
    std::vector<int> group = plan.mesh.group(rank, {axes.begin(), axes.end()});
    for (const int member : group) is_placed[size_t(member)] = true;
    const auto is_comparable = [&](int member) { return member < ranks && plan.host_of(member) == plan.host_of(rank); };
    if (std::ranges::all_of(group, is_comparable)) groups.push_back(std::move(group));
  }
  return groups;
}

int peer_of(const Plan& plan, const Instruction& instruction, int rank) {
  const StageChannel& channel = plan.program.channels.at(size_t(instruction.channel()));
  return device_at_stage(plan, rank, instruction.kind() == InstructionKind::receive ? channel.from : channel.to);
}

RankTimeline timeline_of(const Plan& plan, const std::vector<PlanStepTime>& times, int rank, int64_t zero) {
  const auto seconds = [zero](int64_t ns) { return static_cast<double>(ns - zero) * 1e-9; };
  RankTimeline timeline{rank, plan.stage_of(rank), {}, 0};
  std::vector<TrackSlice> slices;
  slices.reserve(times.size() + times.size() / 4);
  int position = 0;
  for (const Instruction& instruction : plan.instructions(timeline.stage)) {
    const auto& [arrive, start, end] = times[size_t(position)];
    const TimePart part = is_communication(instruction.kind()) ? TimePart::transfer : TimePart::work;
    if (start > arrive) slices.push_back({seconds(arrive), seconds(start), position, TimePart::waiting});
    slices.push_back({seconds(start), seconds(end), position++, part});
  }
  timeline.track = TimelineTrack(std::move(slices));
  return timeline;
}

double waited(const PlanStepTime& time) { return static_cast<double>(time.start_ns - time.arrive_ns) * 1e-9; }

// Whom the waiting of each step of a stage is owed to.
void add_delays(const Plan& plan, RankTimes times, int stage, std::vector<RankTimeline>& ranks) {
  std::vector<std::pair<AxisList, std::vector<std::vector<int>>>> known;
  const SequenceInstructions steps = plan.instructions(stage);
  int position = 0;
  for (const Instruction& instruction : steps) {
    const auto at = static_cast<size_t>(position++);
    if (is_transfer(instruction.kind())) {
      for (const int rank : plan.devices_of_stage(stage)) {
        if (rank >= std::ssize(times)) continue;
        const int peer = peer_of(plan, instruction, rank);
        if (peer < std::ssize(times)) ranks[size_t(peer)].delayed_others += waited(times[size_t(rank)][at]);
      }
    }
    if (!is_collective(instruction.kind())) continue;
    const auto done = static_cast<size_t>(steps.done_of(position - 1));
    auto found =
        std::ranges::find(known, instruction.axes(), &std::pair<AxisList, std::vector<std::vector<int>>>::first);
    if (found == known.end())
      found = known.insert(found, {instruction.axes(), groups_over(plan, instruction.axes(), int(times.size()))});
    for (const std::vector<int>& group : found->second) {
      if (plan.stage_of(group.front()) != stage) continue;
      const auto arrival = [&](int rank) { return times[size_t(rank)][at].arrive_ns; };
      const int last = *std::ranges::max_element(group, {}, arrival);
      for (const int rank : group)
        if (rank != last) ranks[size_t(last)].delayed_others += waited(times[size_t(rank)][done]);
    }
  }
}

TimelineTrack track_of(const std::vector<TransferPart>& parts) {
  std::vector<TrackSlice> slices;
  for (const auto& [position, is_exposed, span] : parts)
    slices.push_back({span.start, span.end, position, is_exposed ? TimePart::transfer : TimePart::hidden});
  return TimelineTrack(std::move(slices));
}

PredictedStep predicted_step(const Plan& plan, int stage, StageLanes&& of_stage) {
  PredictedStep predicted;
  const std::vector<Simulation::Span>& spans = plan.simulation.stages.at(size_t(stage));
  std::vector<TrackSlice> slices;
  std::vector<PhaseSpan>& phases = predicted.phases;
  int position = 0;
  for (const Instruction& instruction : plan.instructions(stage)) {
    const auto [start, end] = spans[size_t(position)];
    const TimePart part = is_communication(instruction.kind()) ? TimePart::transfer : TimePart::work;
    if (!instruction.as<CollectiveStart>()) slices.push_back({start, end, position, part});
    ++position;
    if (phases.empty() || phases.back().phase != instruction.phase || start > phases.back().end)
      phases.push_back({instruction.phase, start, end});
    phases.back().end = predicted.seconds = end;
  }
  predicted.track = TimelineTrack(std::move(slices));
  for (const LevelLane& lane : of_stage.lanes)
    predicted.streams.push_back({lane.name, track_of(lane.parts), lane.is_behind_passes});
  predicted.behind_passes = std::move(of_stage.behind_passes);
  return predicted;
}

}  // namespace

std::vector<PredictedStep> predicted_steps(const Plan& plan) {
  std::vector<PredictedStep> steps;
  for (StageLanes& of_stage : level_lanes(plan))
    steps.push_back(predicted_step(plan, static_cast<int>(steps.size()), std::move(of_stage)));
  return steps;
}

std::optional<MeasuredStep> measured_step(const Plan& plan, RankTimes times) {
  if (!is_of(plan, times)) return std::nullopt;
  int64_t zero = times.front().front().arrive_ns;
  for (const std::vector<PlanStepTime>& own : times)
    if (!own.empty()) zero = std::min(zero, own.front().arrive_ns);
  MeasuredStep measured;
  for (int rank = 0; rank < std::ssize(times); ++rank) {
    measured.ranks.push_back(timeline_of(plan, times[size_t(rank)], rank, zero));
    const TimelineTrack& track = measured.ranks.back().track;
    measured.seconds = std::max(measured.seconds, track.end());
    measured.waited += track.seconds(0, track.end())[size_t(TimePart::waiting)];
  }
  for (int stage = 0; stage < plan.program.stages; ++stage) add_delays(plan, times, stage, measured.ranks);
  return measured;
}

MeasuredStep::Exposed MeasuredStep::exposed() const {
  const double all = seconds * double(ranks.size());
  if (all <= 0) return {};
  double transfer = 0;
  for (const RankTimeline& rank : ranks) transfer += rank.track.seconds(0, seconds)[size_t(TimePart::transfer)];
  return {waited / all, transfer / all};
}

int MeasuredStep::late_rank() const {
  const auto most = std::ranges::max_element(ranks, {}, &RankTimeline::delayed_others);
  return most == ranks.end() || most->delayed_others <= 0 ? -1 : most->rank;
}

std::vector<int> MeasuredStep::extremes() const {
  std::set<int> stages, chosen;
  for (const RankTimeline& rank : ranks) stages.insert(rank.stage);
  for (const int stage : stages) {
    const auto waiting = [&](const RankTimeline* rank) {
      return std::pair(rank->track.seconds(0, seconds)[size_t(TimePart::waiting)], -rank->track.end());
    };
    std::vector<const RankTimeline*> own;
    for (const RankTimeline& rank : ranks)
      if (rank.stage == stage) own.push_back(&rank);
    const auto [least, most] = std::ranges::minmax_element(own, {}, waiting);
    chosen.insert({(*least)->rank, (*most)->rank});
  }
  return {chosen.begin(), chosen.end()};
}

std::optional<Meeting> meeting_of(const Plan& plan, RankTimes times, int rank, int position) {
  if (!is_of(plan, times) || rank < 0 || rank >= std::ssize(times)) return std::nullopt;
  if (position < 0 || position >= plan.instructions(plan.stage_of(rank)).size()) return std::nullopt;
  const SequenceInstructions steps = plan.instructions(plan.stage_of(rank));
  const int start = steps.start_of(position), done = steps.done_of(start);
  const Instruction& instruction = steps[start];
  const auto time = [&](int member) { return times[size_t(member)][size_t(done)]; };
  const auto moved = [&](int member) { return double(time(member).end_ns - time(member).start_ns) * 1e-9; };
  if (is_transfer(instruction.kind())) {
    const int peer = peer_of(plan, instruction, rank);
    return Meeting{{rank, peer}, peer, waited(time(rank)), waited(time(rank)), moved(rank)};
  }
  if (!is_collective(instruction.kind())) return std::nullopt;
  Meeting meeting;
  meeting.ranks = plan.mesh.group(rank, {instruction.axes().begin(), instruction.axes().end()});
  for (const int member : meeting.ranks)
    if (member >= std::ssize(times) || plan.host_of(member) != plan.host_of(rank)) return std::nullopt;
  const auto arrival = [&](int member) { return times[size_t(member)][size_t(start)].arrive_ns; };
  const auto [first, last] = std::ranges::minmax_element(meeting.ranks, {}, arrival);
  meeting.last = *last;
  meeting.spread = double(arrival(*last) - arrival(*first)) * 1e-9;
  for (const int member : meeting.ranks) {
    meeting.waited += waited(time(member));
    meeting.transfer = std::max(meeting.transfer, moved(member));
  }
  return meeting;
}

}  // namespace shardscope
