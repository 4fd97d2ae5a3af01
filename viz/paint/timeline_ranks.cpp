#include "viz/paint/timeline_ranks.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <tuple>

#include "engine/machine/topology.h"
#include "engine/plan/hidden_transfers.h"
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

// `waits`: of the stage for collectives, in order.
void add_transfer(const TransferSpan& transfer, std::span<const TimeSpan> waits, std::vector<TrackSlice>& slices) {
  const auto& [position, stream, span] = transfer;
  double at = span.start;
  const auto add = [&](double end, TimePart part) {
    if (end > at) slices.push_back({at, end, position, part});
    at = std::max(at, end);
  };
  for (auto wait = std::ranges::upper_bound(waits, at, {}, &TimeSpan::end); wait != waits.end(); ++wait) {
    if (wait->start >= span.end) break;
    add(wait->start, TimePart::hidden);
    add(std::min(wait->end, span.end), TimePart::transfer);
  }
  add(span.end, TimePart::hidden);
}

// On cores that ranks share nothing runs beside computation but what goes between hosts.
bool has_lanes(const Plan& plan, int stage) {
  const bool own_devices = plan.machine.device.kind == DeviceKind::own && !plan.machine.levels.empty();
  return own_devices || plan.simulation.communication.at(size_t(stage)).hidden > 0;
}

// The levels that the members of groups of a stage differ in.
class StageLevels {
 public:
  StageLevels(const Plan& plan, int stage)
      : plan_(plan),
        topology_(plan.machine.levels, plan.mesh.device_count()),
        steps_(plan.instructions(stage)),
        device_(plan.devices_of_stage(stage).front()) {}

  int of(int position) {  // of a collective's start; -1: none
    const AxisList& list = steps_[position].axes();
    const std::vector<AxisIndex> axes(list.begin(), list.end());
    const auto [level, is_new] = known_.try_emplace(axes, 0);
    if (is_new) level->second = topology_.level_of(plan_.mesh.group(device_, axes));
    return level->second;
  }
  std::string name(int level, const std::string& otherwise) const {
    return level < 0 ? otherwise : plan_.machine.levels[size_t(level)].name;
  }

 private:
  const Plan& plan_;
  Topology topology_;
  SequenceInstructions steps_;
  int device_;
  std::map<std::vector<AxisIndex>, int> known_;
};

// Nothing where any two of them are at the same time.
std::optional<std::vector<TrackSlice>> merged(const std::vector<TrackSlice>& a, const std::vector<TrackSlice>& b) {
  std::vector<TrackSlice> both;
  std::ranges::merge(a, b, std::back_inserter(both), {}, &TrackSlice::start, &TrackSlice::start);
  for (size_t i = 1; i < both.size(); ++i)
    if (both[i].start < both[i - 1].end * (1 - 1e-12)) return std::nullopt;
  return both;
}

// Of a step: a lane with less of it would look empty.
constexpr double least_share_of_lane = 1e-5;

double seconds_of(std::span<const TrackSlice> slices) {
  double seconds = 0;
  for (const TrackSlice& slice : slices) seconds += slice.end - slice.start;
  return seconds;
}

// By stream and level; what is hidden behind passes behind the others of its level.
std::vector<PredictedStep::Stream> lanes_of(const Plan& plan, int stage, std::span<const TimeSpan> waits) {
  StageLevels levels(plan, stage);
  const int behind = static_cast<int>(plan.simulation.streams.size());
  std::map<std::pair<int, int>, std::vector<TrackSlice>> slices;
  for (const TransferSpan& transfer : plan.simulation.transfers.at(size_t(stage)))
    add_transfer(transfer, waits, slices[{levels.of(transfer.position), transfer.stream}]);
  for (const auto& [position, of_parameters, span] : transfers_behind_passes(plan, stage))
    slices[{levels.of(position), behind}].push_back({span.start, span.end, position, TimePart::hidden});
  for (auto& [key, of_lane] : slices) {
    const int level = key.first;
    if (key.second == behind || level < 0 || !slices.contains({level, behind})) continue;
    if (plan.simulation.streams[size_t(key.second)] != levels.name(level, "")) continue;
    if (std::optional<std::vector<TrackSlice>> both = merged(of_lane, slices.at({level, behind})))
      std::tie(of_lane, slices.at({level, behind})) = std::pair(std::move(*both), std::vector<TrackSlice>());
  }
  std::vector<PredictedStep::Stream> lanes;
  for (auto& [key, of_lane] : slices) {
    if (key.second == behind && seconds_of(of_lane) <= least_share_of_lane * plan.simulation.seconds) continue;
    const auto& [level, stream] = key;
    if (stream == behind) {
      lanes.push_back({levels.name(level, "links") + " (behind passes)", TimelineTrack(std::move(of_lane)), true});
      continue;
    }
    const std::string& name = plan.simulation.streams[size_t(stream)];
    const std::string of_level = levels.name(level, name);
    lanes.push_back({of_level == name ? name : of_level + " (blocking)", TimelineTrack(std::move(of_lane)), false});
  }
  return lanes;
}

}  // namespace

PredictedStep predicted_step(const Plan& plan, int stage) {
  PredictedStep predicted;
  const std::vector<Simulation::Span>& spans = plan.simulation.stages.at(size_t(stage));
  std::vector<TrackSlice> slices;
  std::vector<TimeSpan> waits;
  std::vector<PhaseSpan>& phases = predicted.phases;
  int position = 0;
  for (const Instruction& instruction : plan.instructions(stage)) {
    const auto [start, end] = spans[size_t(position)];
    const TimePart part = is_communication(instruction.kind()) ? TimePart::transfer : TimePart::work;
    if (!instruction.as<CollectiveStart>()) slices.push_back({start, end, position, part});
    if (instruction.as<CollectiveDone>()) waits.push_back({start, end});
    ++position;
    if (phases.empty() || phases.back().phase != instruction.phase || start > phases.back().end)
      phases.push_back({instruction.phase, start, end});
    phases.back().end = predicted.seconds = end;
  }
  predicted.track = TimelineTrack(std::move(slices));
  if (has_lanes(plan, stage)) predicted.streams = lanes_of(plan, stage, waits);
  return predicted;
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
